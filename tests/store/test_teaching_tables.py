from dataclasses import replace

from scrapy_dedup.store.knowledge.layout_pictures import StoredPicture
from scrapy_dedup.store.knowledge.url_parameters import StoredParameter
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import DOMAIN, NOON, a_time

PICTURE = StoredPicture(DOMAIN, -(2**63), "https://www.example.com/a", NOON, 1366, 900, [{"number": 3}], b"\x89PNG")
PARAMETER = StoredParameter(DOMAIN, "sid", same=4, different=0, ignored=True, seen_at=NOON)


def test_a_layout_has_its_newest_picture_alone(project: ProjectStore) -> None:
    newer = replace(PICTURE, made_at=a_time(1), picture=b"new", boxes=[])
    project.put_picture(PICTURE)
    project.put_picture(replace(PICTURE, layout=7))
    project.put_picture(newer)

    assert project.pictures(DOMAIN) == {PICTURE.layout: newer, 7: replace(PICTURE, layout=7)}
    assert project.pictures("other.example") == {}


def test_what_is_known_of_a_parameter_is_replaced(project: ProjectStore) -> None:
    other = replace(PARAMETER, name="ref", ignored=False)
    project.put_url_parameters([PARAMETER, other])
    project.put_url_parameters([replace(PARAMETER, same=5)])
    project.put_url_parameters([])

    assert project.url_parameters() == [other, replace(PARAMETER, same=5)]
