"""Settings of a worker: those of the project, here `example`, and what workers share."""

import os
import socket

from example.settings import *  # noqa: F403 - a settings module is its names

# One queue. The three classes belong together.
SCHEDULER = "scrapy_redis.scheduler.Scheduler"
SCHEDULER_QUEUE_CLASS = "scrapy_dedup.LeasedQueue"
DUPEFILTER_CLASS = "scrapy_dedup.LeasedDupeFilter"
SCHEDULER_PERSIST = True
REDIS_URL = os.environ["REDIS_URL"]
# A Redis that does not answer holds a crawl up for so long at a time.
REDIS_PARAMS = {"socket_timeout": 5, "socket_connect_timeout": 5}

# One store.
DEDUP_DATABASE_URL = os.environ["DEDUP_DATABASE_URL"]
DEDUP_SHARED_JOB = os.environ["DEDUP_SHARED_JOB"]
DEDUP_SHARED_LEASE = os.environ.get("DEDUP_SHARED_LEASE", "60")
DEDUP_SERVE = {"token": os.environ.get("DEDUP_SERVE_TOKEN", "")}

# Each worker writes files of its own, a new one after so many items: those in the file that a killed worker had open
# come again.
_FOLDER = os.environ.get("CRAWL_OUTPUT", "output")
_WORKER = f"{socket.gethostname()}-{os.getpid()}"
FEEDS = {f"{_FOLDER}/{_WORKER}-%(time)s-%(batch_id)05d.jsonl": {"format": "jsonlines", "batch_item_count": 1000}}
