"""An ordinary Scrapy project. One line in it is about scrapy_dedup."""

ADDONS = {"scrapy_dedup.Addon": 700}

BOT_NAME = "example"
SPIDER_MODULES = ["example.spiders"]
NEWSPIDER_MODULE = "example.spiders"

# Politeness. The site spider lowers the delay for servers on this machine.
ROBOTSTXT_OBEY = True
DOWNLOAD_DELAY = 1
CONCURRENT_REQUESTS_PER_DOMAIN = 1

FEED_EXPORT_ENCODING = "utf-8"
LOG_LEVEL = "INFO"
TELNETCONSOLE_ENABLED = False
EXTENSIONS = {"example.progress.Progress": 0}
