from tests.store.conftest import new_url, postgresql, project, store, url

__all__ = ["new_url", "postgresql", "project", "store", "url"]
