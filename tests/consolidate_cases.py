"""Lives of memories: what is said, and what has to be left at the end."""

from __future__ import annotations

from typing import Any

import msgspec

from recalld.model import Candidate, Origin, Scope, Type

Step = tuple[str, Any]


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """active, superseded: for each a memory that contains it. conflict: pairs. most: of active memories."""

    name: str
    steps: tuple[Step, ...]
    active: tuple[str, ...] = ()
    superseded: tuple[str, ...] = ()
    conflict: tuple[tuple[str, str], ...] = ()
    absent: tuple[str, ...] = ()
    most: int


def say(content: str, **fields: Any) -> Step:
    return ("say", Candidate(content=content, **fields))


def remember(content: str) -> Step:
    return ("remember", content)


def drop(revokes: str) -> Step:
    return ("say", Candidate(content="", revokes=revokes))


def replay(step: int) -> Step:
    return ("replay", step)


def delete(part: str) -> Step:
    return ("delete", part)


def edit(part: str, content: str) -> Step:
    return ("edit", (part, content))


def days(number: int) -> Step:
    return ("days", number)


DECISION, LESSON, PREFERENCE, PROGRESS = Type.DECISION, Type.LESSON, Type.PREFERENCE, Type.PROGRESS

CASES = (
    Case(
        name="said five times in other words",
        steps=(
            say("The label printer in hall 2 has the address 10.4.0.17."),
            say("the label printer of hall 2 is at 10.4.0.17"),
            say("The address of the label printer in hall 2 is 10.4.0.17"),
            say("Our label printer in hall 2 has 10.4.0.17"),
            say("label printer hall 2: 10.4.0.17"),
        ),
        active=("10.4.0.17",),
        most=1,
    ),
    Case(
        name="said three times in Chinese",
        steps=(
            say("仓库扫码枪的固件版本是 2.8。"),
            say("仓库扫码枪固件版本为 2.8"),
            say("扫码枪的固件版本是 2.8，仓库里的"),
        ),
        active=("2.8",),
        most=1,
    ),
    Case(
        name="in the words of the shell and in a conversation",
        steps=(
            remember("Grain prices are imported every second Monday."),
            say("grain prices are imported every second monday"),
            remember("we import grain prices every second Monday"),
        ),
        active=("Monday",),
        most=1,
    ),
    Case(
        name="a unit written in two ways",
        steps=(
            say("The lock of the ticket expires after 90 seconds."),
            say("the lock of the ticket expires after 90 s"),
        ),
        active=("90",),
        most=1,
    ),
    Case(
        name="the same turn four times",
        steps=(say("Coupons are checked on the server.", type=DECISION), replay(0), replay(0), replay(0)),
        active=("Coupons",),
        most=1,
    ),
    Case(
        name="a version is added",
        steps=(say("The firmware is built with GCC."), say("The firmware is built with GCC 13 in a container.")),
        active=("GCC 13",),
        most=1,
    ),
    Case(
        name="a version becomes more precise, and less again",
        steps=(
            say("The crawler needs Ruby 3."),
            say("The crawler needs Ruby 3.3, older ones lack the parser."),
            say("the crawler needs Ruby 3"),
        ),
        active=("3.3",),
        most=1,
    ),
    Case(
        name="a Chinese statement gets a time",
        steps=(say("对账单每周生成。"), say("对账单每周一 9:00 生成，节假日顺延。")),
        active=("9:00",),
        most=1,
    ),
    Case(
        name="a decision gives way to another",
        steps=(
            say("We collect sensor values by polling every minute.", type=DECISION),
            say("Sensors send their values over MQTT.", type=DECISION, revokes="the polling", replaces=True),
        ),
        active=("MQTT",),
        superseded=("polling",),
        most=1,
    ),
    Case(
        name="a Chinese decision gives way to another",
        steps=(
            say("全文检索用 Solr。", type=DECISION),
            say("全文检索统一改用 OpenSearch。", type=DECISION, revokes="Solr 那套方案", replaces=True),
        ),
        active=("OpenSearch",),
        superseded=("Solr",),
        most=1,
    ),
    Case(
        name="a rule is given up without another",
        steps=(say("Functions have at most 40 lines."), drop("the rule about 40 lines")),
        superseded=("40 lines",),
        most=0,
    ),
    Case(
        name="only the right one of two is given up",
        steps=(
            say("Uploads are scanned with ClamAV."),
            say("Mail attachments are scanned with ClamAV."),
            say("Uploads are scanned by the cloud provider.", revokes="ClamAV for uploads", replaces=True),
        ),
        active=("Mail", "cloud provider"),
        superseded=("Uploads are scanned with ClamAV",),
        most=2,
    ),
    Case(
        name="a name is given up, others stay",
        steps=(
            say("Errors are sent to Rollbar."),
            say("Uptime is watched by Pingdom."),
            say("Errors are sent to Glitchtip.", revokes="Rollbar", replaces=True),
        ),
        active=("Pingdom", "Glitchtip"),
        superseded=("Rollbar",),
        most=2,
    ),
    Case(
        name="back and forth",
        steps=(
            say("The kiosk runs on Qt.", type=DECISION),
            say("The kiosk runs on Flutter.", type=DECISION, replaces=True),
            say("The kiosk runs on Qt.", type=DECISION, replaces=True),
        ),
        active=("Qt",),
        superseded=("Flutter",),
        most=1,
    ),
    Case(
        name="a prohibition is lifted in Chinese",
        steps=(
            say("代码里不要用反射。", type=PREFERENCE),
            say("现在可以用反射了。", type=PREFERENCE, revokes="不要用反射那条", replaces=True),
        ),
        superseded=("不要用反射",),
        most=1,
    ),
    Case(
        name="a version is raised",
        steps=(say("The gateway runs on Java 17."), days(30), say("The gateway runs on Java 21 now.", replaces=True)),
        active=("Java 21",),
        most=1,
    ),
    Case(
        name="a number is raised, with the old one named",
        steps=(
            say("The batch size of the importer is 200 rows."),
            say("We raised the batch size of the importer from 200 to 500 rows.", replaces=True),
        ),
        active=("500",),
        most=1,
    ),
    Case(
        name="a Chinese number is changed",
        steps=(say("单次导出最多 5 万行。"), say("导出行数从 5 万改成 10 万了。", replaces=True)),
        active=("10 万",),
        most=1,
    ),
    Case(
        name="a changed value does not touch the neighbour",
        steps=(
            say("The read timeout of the proxy is 20 s."),
            say("The write timeout of the proxy is 40 s."),
            say("The read timeout of the proxy is 25 s now.", replaces=True),
        ),
        active=("25 s", "write timeout of the proxy is 40"),
        most=2,
    ),
    Case(
        name="two ports of one thing",
        steps=(say("The label service listens on 7010."), days(5), say("The label service listens on 7020.")),
        conflict=(("7010", "7020"),),
        most=2,
    ),
    Case(
        name="do and do not",
        steps=(
            say("Wrap SQL in multi-line strings.", type=PREFERENCE),
            say("Do not wrap SQL in multi-line strings.", type=PREFERENCE),
        ),
        conflict=(("Wrap SQL", "Do not wrap"),),
        most=2,
    ),
    Case(
        name="two ways in Chinese",
        steps=(say("会员编号由后台随机生成。"), days(8), say("会员编号由手机号哈希生成。")),
        conflict=(("随机", "哈希"),),
        most=2,
    ),
    Case(
        name="two values of a Chinese number",
        steps=(say("登录失败 5 次后锁定账号。"), say("登录失败 3 次后锁定账号。")),
        conflict=(("5 次", "3 次"),),
        most=2,
    ),
    Case(
        name="something is no longer wanted, another thing is",
        steps=(
            say("Use semicolons in the scripts.", type=PREFERENCE),
            say("Use line breaks in the scripts.", type=PREFERENCE, revokes="semicolons", replaces=True),
        ),
        active=("line breaks",),
        superseded=("semicolons",),
        most=1,
    ),
    Case(
        name="two ports of two things",
        steps=(say("The preview server runs on port 4010."), say("The docs server runs on port 4011.")),
        active=("4010", "4011"),
        most=2,
    ),
    Case(
        name="two tables",
        steps=(say("评论表按 post_id 分 8 张表。"), say("消息表按 user_id 分 32 张表。")),
        active=("评论表", "消息表"),
        most=2,
    ),
    Case(
        name="two people",
        steps=(say("Jan approves the invoices."), say("Jana approves the contracts.")),
        active=("Jan approves", "Jana"),
        most=2,
    ),
    Case(
        name="two environments",
        steps=(say("On staging mails go to Mailpit."), say("In production mails go to Postmark.")),
        active=("Mailpit", "Postmark"),
        most=2,
    ),
    Case(
        name="two environments in Chinese",
        steps=(say("测试环境的短信走模拟通道。"), say("生产环境的短信走阿里云。")),
        active=("模拟通道", "阿里云"),
        most=2,
    ),
    Case(
        name="two platforms",
        steps=(say("On Windows the agent logs to the event log."), say("On Linux the agent logs to journald.")),
        active=("event log", "journald"),
        most=2,
    ),
    Case(
        name="a decision and a lesson about one thing",
        steps=(
            say("We use Puppeteer for the PDF export.", type=DECISION),
            say("Puppeteer leaks tabs in the PDF export unless each page is closed.", type=LESSON),
        ),
        active=("We use Puppeteer", "leaks tabs"),
        most=2,
    ),
    Case(
        name="a habit and the rule of a project",
        steps=(
            say("I write commit messages in English.", type=PREFERENCE, scope=Scope.USER),
            say("Commit messages are written in German here.", type=DECISION),
        ),
        active=("English", "German"),
        most=2,
    ),
    Case(
        name="deleted stays deleted",
        steps=(say("My locker is number 31 in corridor B."), delete("locker"), replay(0)),
        absent=("locker",),
        most=0,
    ),
    Case(
        name="deleted comes back by hand",
        steps=(
            say("My locker is number 31 in corridor B."),
            delete("locker"),
            remember("My locker is number 31 in corridor B."),
        ),
        active=("locker",),
        most=1,
    ),
    Case(
        name="deleted does not keep others out",
        steps=(
            say("The scheduler listens on port 8800."),
            delete("8800"),
            say("The archiver listens on port 8900."),
            replay(0),
        ),
        active=("8900",),
        absent=("8800",),
        most=1,
    ),
    Case(
        name="edited stays edited",
        steps=(
            say("The channel for incidents is called #fire."),
            edit("#fire", "The channel for incidents is called #incidents."),
            replay(0),
        ),
        active=("#incidents",),
        absent=("#fire",),
        most=1,
    ),
    Case(
        name="an overturned decision stays overturned",
        steps=(
            say("The charts are drawn with Plotly.", type=DECISION),
            say("The charts are drawn with ECharts.", type=DECISION, revokes="Plotly", replaces=True),
            replay(0),
            replay(1),
        ),
        active=("ECharts",),
        superseded=("Plotly",),
        most=1,
    ),
    Case(
        name="progress passes, decisions stay",
        steps=(
            say("The migration of the ledger is finished.", type=PROGRESS),
            say("The ledger only takes entries in euros.", type=DECISION),
            days(200),
        ),
        active=("euros",),
        absent=("migration",),
        most=1,
    ),
    Case(
        name="newer progress on the same thing",
        steps=(
            say("The parser rewrite is half done.", type=PROGRESS),
            say("The parser rewrite is finished, next is the printer.", type=PROGRESS),
        ),
        active=("printer",),
        superseded=("half done",),
        most=1,
    ),
    Case(
        name="a guess changes nothing",
        steps=(
            say("The robot arm is homed every 500 cycles.", type=DECISION),
            say("The robot arm could be homed every 800 cycles.", confidence=0.4),
        ),
        active=("500",),
        absent=("800",),
        most=1,
    ),
    Case(
        name="what the assistant says does not overrule the person",
        steps=(
            say("Answer in German.", type=PREFERENCE, scope=Scope.USER),
            say("Answer in English.", type=PREFERENCE, scope=Scope.USER, origin=Origin.ASSISTANT),
        ),
        active=("German",),
        most=1,
    ),
    Case(
        name="an upgrade ends the version before it",
        steps=(
            say("We pin Ansible to version 2.15.1."),
            say("We upgraded Ansible to 2.17.0.", type=DECISION, replaces=True),
        ),
        active=("2.17.0",),
        superseded=("2.15.1",),
        most=1,
    ),
    Case(
        name="an upgrade leaves the rest of a sentence true",
        steps=(
            say("The storefront is built with React 18.3, its tests run with Vitest."),
            say("We upgraded React to 19.1.", type=DECISION, replaces=True),
        ),
        active=("tests run with Vitest.", "19.1"),
        superseded=("React 18.3",),
        absent=("18.3",),
        most=2,
    ),
    Case(
        name="升级之后,句子里其余的还成立",
        steps=(
            say("这个仓库是订单数据的实时管道,计算用 Flink 1.17。"),
            say("我们的 Flink 已经升级到 1.19。", type=DECISION, replaces=True),
        ),
        active=("实时管道", "1.19"),
        superseded=("1.17",),
        absent=("1.17",),
        most=2,
    ),
    Case(
        name="what was learnt with an old version stays",
        steps=(
            say("Postgres 15.2 loses replication slots on failover.", type=LESSON),
            say("We upgraded Postgres to 16.1.", type=DECISION, replaces=True),
        ),
        active=("loses replication slots", "16.1"),
        most=2,
    ),
    Case(
        name="a rule and what it was learnt from",
        steps=(
            say("We lost mails for an hour because the old relay was stopped before the new one ran.", type=LESSON),
            say("Start the new relay before stopping the old one.", type=LESSON),
        ),
        active=("lost mails", "Start the new relay"),
        most=2,
    ),
    Case(
        name="progress on something else stays",
        steps=(
            say("The exporter is finished, next up is the importer.", type=PROGRESS),
            say("The login page is done, next is the settings page.", type=PROGRESS),
        ),
        active=("importer", "settings page"),
        most=2,
    ),
    Case(
        name="进度往前走了一步",
        steps=(
            say("ods_users 写完了,接下来做 dwd_users。", type=PROGRESS),
            say("dwd 层做完了,下一步做报表。", type=PROGRESS),
        ),
        active=("报表",),
        superseded=("接下来做 dwd_users",),
        most=1,
    ),
)
