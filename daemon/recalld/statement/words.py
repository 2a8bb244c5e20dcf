"""The word lists that reading a statement rests on. English and Chinese; a start in German and Spanish."""

from __future__ import annotations

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words that say nothing about what a statement is about.
GLUE = _words(
    "a an the this that these those it its it's they them their there here i we you he she my our your us me one's ones who"
    " and or so also too just only very really quite already still again ever even then than as at by for from in into"
    " of off on onto out over per through to up upon via with within under about against between during after before"
    " be is are was were been being am isn't aren't wasn't weren't will would shall should must may might can could"
    " do does did doing done has have had having get gets got let lets let's please ok okay fyi btw note remember"
    " reminder actually now currently today finally always everywhere everything anything whatever all any each both"
    " because since while when where which what how if whether yes well sure right kind sort bit lot please everyone"
    " i'm i've i'd i'll we're we've we'd we'll you're you've they're he's she's that's there's what's"
    " always generally usually basically simply exactly directly default agreed settled decided decide decision rule"
    " rules convention policy plan thing things stuff idea approach way setup project repo codebase case cases forget"
    " say says said mind told mention aware know longer more any anymore such own other another both either make sure"
    " maybe perhaps probably possibly think guess believe seem seems might unsure sometime instead rather want"
    " wants like prefer prefers preferred ours mine yours ourselves called named name new old like set go goes going"
    " raised lowered increased reduced bumped changed upgraded downgraded renamed extended shortened switched moved"
    " der die das den dem ein eine einen wir ich und mit auf für von zu im ist sind wird werden el la los las un una"
    " y de del que en es por para con se lo al nos"
)
# In "forget the rule about X" only X matters; stems.
PLAIN = _words("rul solution schem requir restrict ban part point former previou earli last")
# "Lift the ban on X" gives up a statement that denies X.
BAN = re.compile(r"\b(?:ban|prohibition|forbidding|restriction|veto)\b|禁令|禁止|限制", re.IGNORECASE)
# Verbs too general to tell two statements apart; they still end the subject.
LIGHT_VERBS = _words(
    "use run listen live sit reside happen keep need take put work do make go stay belong occur exist have get set be"
    " require utilise utilize"
)
PLACING = _words("run live sit reside happen go stay belong occur exist be listen move put")
# "The build takes 9 minutes", "the build runs on ARM": with these, two values are of different things; stems.
MEASURES = _words("tak keep need requir have get set do mak work")
# Their objects do not exclude each other: "we use Redis" and "we use Postgres" both hold.
OPEN_VERBS = _words(
    "use have support include contain accept depend need import add install like know require allow love"
)
VERBS = (
    LIGHT_VERBS
    | OPEN_VERBS
    | _words(
        "reject return send store cache write read render generate produce review own maintain deploy publish release build"
        " test start stop end finish begin prefer call host serve handle log print format wrap indent commit push merge poll"
        " fetch load save delete archive expire drop limit cover cut freeze ship upload download export process validate"
        " check trigger schedule open close point map report track sync mirror retry wait expose hold look come move pass"
        " last default connect answer reply respond speak follow rotate land sign encrypt hash version pin compile bundle"
        " lint parse split join hit skip ignore break fail crash leak block throttle cost charge pay bill lead manage assign give limit accept choose draw show drive hide find leave"
    )
)
COPULAS = _words(
    "is are was were be been being will would shall should must may might can could do does did has have had isn't"
    " aren't wasn't weren't doesn't don't didn't won't can't cannot shouldn't mustn't ist sind wird werden es son"
)
# Verbs that open an order and are rarely nouns at the beginning of a sentence.
IMPERATIVES = _words(
    "use prefer keep avoid write put run send answer reply wrap indent commit push merge add make pin do call store"
    " render generate deploy publish serve poll fetch never always import name sign follow speak respond stick go get"
    " set have skip hash encrypt rotate nutze verwende usa"
)
SUBJECTLESS = _words("we i you let's lets always never don't do not only please to should must will can shall won't")
PRONOUNS = _words("we i you they to")
# After these, or after a plural, a verb has no ending; elsewhere a bare form is part of a noun ("import job").
BEFORE_VERB = PRONOUNS | _words(
    "never always only not also just now usually often must should may can will shall do don't people data users"
)
# A word with a capital after one of these is a name, whatever it means else ("written in Go").
MID_SENTENCE = _words("in on at by for from of to with via through is are was be use uses using and or the a over")
# They stand between a name and its version; stems.
VERSIONS = _words("version releas v upgrad updat bump mov switch 升 级 到 版 本 更 新 已 经")
# Every note on progress has them; stems.
PROGRESS = _words(
    "next finish done complet start begin stop remain leav miss work still now tomorrow merg deploy review bug test pr fix commit 做 完 开 始 接 下 步 层 上 线 剩 一"
)
# What follows is a statement of its own: a denial does not reach it.
BREAKS = _words("because although though whereas")
DETERMINERS = _words(
    "a an the this that these those my our your its their each every no any all for of in on at by to from"
)
PREPOSITIONS = _words(
    "in on at by for from of to into onto over via with within under through per every each as against during until"
)
NEGATORS = _words(
    "not no never don't doesn't didn't isn't aren't wasn't weren't won't can't cannot shouldn't mustn't avoid forbid"
    " forbidden prohibited banned disallow disallowed neither nor nothing nobody stop disabled nicht kein keine"
    " keinen nie nunca without needn't haven't hasn't wouldn't"
)
# Subjects that can use many things at once; "the message queue uses X" on the other hand leaves no room for a second.
CONTAINERS = _words(
    "service backend frontend app application server system dashboard site team company client worker code product api"
    " platform tool cluster stack monolith gateway library module package"
)
HAN_CONTAINERS = (
    "平台",
    "系统",
    "服务",
    "后端",
    "前端",
    "应用",
    "网站",
    "项目",
    "团队",
    "公司",
    "客户端",
    "服务端",
    "模块",
    "小程序",
    "代码",
    "产品",
    "后台",
)
# A number behind one of these tells which one is meant; stems.
LABELS = _words(
    "number nr modul step phas stag chapter section part sprint ticket issu item cas task team room hall floor lin row"
    " batch shard nod worker replica host machin pag level zon group unit lesson exampl scenario slot lan epic mileston iteration"
    " week day entry rul tabl figur record test job fact sentenc note question customer client user order invoic account servic server devic printer"
)
HAN_LABELS = (
    "第", "模块", "步骤", "阶段", "任务", "迭代", "冲刺", "房间", "机房", "分片", "节点", "批次", "工单", "需求", "编号", "小组", "条目", "示例", "案例", "服务", "客户", "用户", "仓库", "门店", "设备",
)  # fmt: skip
# What passes; two of them do not exclude each other.
STATES = _words(
    "slow fast broken ready done finish complete stable flaky important critical big large small expensive cheap ok good"
    " bad fine nice safe unsafe open public private internal external legacy deprecate optional mandatory"
)
# "X is gone", "scrap X".
GONE = _words(
    "kill killed axe axed gone dead history out off void over dropped scrapped abandoned ditched deprecated removed obsolete retired cancelled"
    " canceled scrap ditch abandon"
)
TIMES = _words(
    "day daily night nightly morning evening week weekly month monthly hour hourly noon midnight weekend year yearly"
    " quarter quarterly sprint afternoon"
)
WEEKDAYS = _words(
    "monday tuesday wednesday thursday friday saturday sunday january february march april june july august september"
    " october november december montag dienstag mittwoch donnerstag freitag lunes martes miércoles jueves viernes"
)

SYNONYMS = {
    "written": "write", "kept": "keep", "sent": "send", "built": "build", "held": "hold", "given": "give",
    "taken": "take", "made": "make", "drawn": "draw", "shown": "show", "broken": "break", "chosen": "choose",
    "hidden": "hide", "paid": "pay", "left": "leave", "found": "find", "driven": "drive", "split": "split",
    "db": "database", "repository": "repo", "configuration": "config", "kubernetes": "k8s", "postgresql": "postgres",
    "pg": "postgres", "javascript": "js", "typescript": "ts", "golang": "go-lang", "env": "environment",
    "documentation": "docs", "doc": "docs", "authentication": "auth", "authorisation": "authz", "ui": "ui",
    "frontend": "frontend", "front-end": "frontend", "backend": "backend", "back-end": "backend", "maximum": "max",
    "minimum": "min", "msg": "message", "app": "application", "apps": "application", "mongo": "mongodb",
    "admins": "admin", "remov": "delet", "websocket": "websocket", "ws": "websocket", "req": "request", "forbidden": "forbid",
}  # fmt: skip

ENVIRONMENTS = {
    "dev": "dev", "development": "dev", "local": "dev", "locally": "dev", "staging": "staging", "stage": "staging",
    "preprod": "staging", "pre-production": "staging", "prod": "prod", "production": "prod",
    "qa": "qa", "uat": "uat", "sandbox": "sandbox", "preview": "preview", "canary": "canary",
    "开发环境": "dev", "本地环境": "dev", "开发": "dev", "测试环境": "test", "测试服": "test", "预发": "staging", "预发布": "staging",
    "预生产": "staging", "准生产": "staging", "预发环境": "staging", "生产环境": "prod", "生产": "prod", "线上": "prod",
    "正式环境": "prod", "灰度环境": "canary", "沙箱": "sandbox", "线上环境": "prod", "联调环境": "uat",
}  # fmt: skip
PLACES = _words("environment environments env machine machines development dev setup")
PLATFORMS = {
    "linux": "linux", "ubuntu": "linux", "debian": "linux", "macos": "mac", "mac": "mac", "osx": "mac", "macs": "mac",
    "windows": "windows", "ios": "ios", "iphone": "ios", "android": "android", "arm64": "arm", "arm": "arm",
    "x86": "x86", "amd64": "x86", "wsl": "wsl", "安卓": "android", "苹果": "ios",
}  # fmt: skip

# Seconds and bytes; other units stand for themselves.
UNITS = {
    "ms": ("s", 0.001), "millisecond": ("s", 0.001), "毫秒": ("s", 0.001), "s": ("s", 1), "sec": ("s", 1), "secs": ("s", 1),
    "second": ("s", 1), "秒": ("s", 1), "秒钟": ("s", 1), "min": ("s", 60), "mins": ("s", 60), "minute": ("s", 60), "分钟": ("s", 60),
    "h": ("s", 3600), "hr": ("s", 3600), "hour": ("s", 3600), "小时": ("s", 3600), "day": ("s", 86400), "天": ("s", 86400),
    "日": ("s", 86400), "week": ("s", 604800), "周": ("s", 604800), "kb": ("b", 1e3), "mb": ("b", 1e6), "gb": ("b", 1e9),
    "tb": ("b", 1e12), "kib": ("b", 1e3), "mib": ("b", 1e6), "gib": ("b", 1e9), "k": ("", 1e3), "%": ("%", 1),
    "percent": ("%", 1), "万": ("", 1e4),
    "month": ("s", 2592000), "个月": ("s", 2592000), "year": ("s", 31536000), "年": ("s", 31536000),
}  # fmt: skip
# Hours of the day; all times become 24-hour clock times.
HOURS = {"am": 0, "pm": 12, "点": 0, "点钟": 0, "o'clock": 0}
AFTERNOON = ("下午", "晚上", "傍晚")
NUMBER_WORDS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60,
    "hundred": 100,
}  # fmt: skip
HAN_WEEKDAYS = dict(
    zip(
        "一二三四五六日天",
        ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "sunday"],
        strict=True,
    )
)
CHINESE_DIGITS = {"一": 1, "两": 2, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10}

# What stands before the statement itself.
LEAD = re.compile(
    r"(?:please|pls|ok(?:ay)?|so|and|also|btw|fyi|actually|well|again|hey|just|remember|keep in mind|bear in mind"
    r"|(?:please )?don'?t forget|be aware|heads[- ]up|note(?: to self)?|for the record|as agreed|from now on|from today(?: on)?"
    r"|going forward|in (?:the )?future|(?:we|i)(?:'ve| have)? (?:decided|agreed|settled|chose|opted)"
    r"(?: (?:on|to|that|for))?|(?:our|the|my) (?:rule|convention|decision|policy|standard)(?: here)?(?: is)?"
    r"|lessons? learned|decision|rule|convention|todo|important|we upgraded|update|correction"
    r"|[^:]{0,40}\b(?:decision|answer|conclusion|verdict|result|bottom line):|(?:we|i)(?:'ve| have)? changed (?:our|my) minds?|final (?:decision|answer|word)|(?:i|we)(?:'d| would)? (?:want|like|prefer)"
    r"(?: you)? to|i think|i guess|reminder|it is|that|to|:|,|-|\.)(?=[\s:,.\-]|$)\s*",
    re.IGNORECASE,
)
# "it used to hold": the statement itself says that it changes what was so before.
CHANGE_CUE = re.compile(
    r"\bno longer\b|\bany ?more\b|\bany longer\b|\binstead\b|\bswitch(?:ed)? (?:from|to)\b|\bmigrated? (?:from|to)\b|\bmoved (?:from|to)\b"
    r"|\bchanged (?:our|my) minds?\b|\bfinal (?:decision|answer|word)\b|\bback (?:to|on)\b|回到|还是用"
    r"|\breplac(?:e|es|ed|ing) (?:by|with)?|\bafter all\b|\bnicht mehr\b|\bya no\b|不再|改成|改为|改用|换成|换到|改回|升级到|升到|迁到|迁移到|调到|调整为"
    r"|\b(?:raised|lowered|increased|reduced|bumped|changed|upgraded|downgraded|renamed|extended|shortened)\b",
    re.IGNORECASE,
)

HAN_KEEP = (
    "不超过|不多于|不少于|不低于|到期|达到|定时|固定|确定|稳定|指定|锁定|绑定|全文|安全|全量|全局|全栈|跟踪|对账|对象|对接|对外|来源|去重|过期|过滤|过程|超过|起始|请求|申请|机会|社会|会计"
    "|中国|条目|条款|套餐|公里|上海|上级|下级|下发|下架|上架|个性|能耗|从属|还款|已读|说法|中转|中继|上游|"
    "周会|例会|晨会|站会|早会|会议|以及|以太|通过|每天|每周|每月|每年|每小时|每次|每晚|每个|每|用户|用途|用例|应用|作用|通用|专用|费用|启用|禁用|调用|占用|引用|复用|在线|存储|存量|缓存|内存|库存|保存|储存|要求|主要|重要|需求|必要|摘要|按钮|按键"
    "|放行|是否|为空|作为|行为|因为|人为|由于|路由|理由|自由|释放|开放|发放|上传|上限|上线|下载|下线|下限|上游|下游|上报|下单|中文|中间|里程|会话|会员|能力|功能"
    "|性能|智能|个人|条件|套件|得到|目的|目标|的确|就绪|再生|还原|还款|把手|都市|也许|默认分支|使用者|别名|特别|分别|级别|区别|识别|类别|不同|不过|不变|不可变"
    "|走查|说明|现金|从库|主从|了解|中台|中心|集中|中断|以上|以下|线下|地上|早上|晚上|上午|下午|中午|周一|周二|周三|周四|周五|周六|周日|周末|星期."
)
HAN_NEGATION = "废弃|作废|取消了|撤销了|弃用|停用了|淘汰了|推翻了|放弃了|不要了|不用了|不做了|不搞了|不要|不准|不许|不能|不可以|不可|不得|不用|不再|不需要|不允许|不会|不放|不走|不存|不用|不写|不跑|不搞|不做|不支持|禁止|严禁|切勿|无需|没有|不是|而不是|而非|别|勿|不|没"
# Verbs by what they do: equate, use, place; the rest stand for themselves. All of them end the subject.
HAN_IS = "是|为|叫|叫做|就是|设为|设成|设置为"
HAN_USE = "用|使用|采用|改用|换成|改成|改为"
HAN_AT = (
    "监听在|监听|运行在|部署在|部署到|托管在|跑在|存放在|存储在|存在|放在|写在|写到|存到|传到|放到|落到|发到|换到|走|在|存|放|归|改到|改在"
    "|改发到|挪到|移到|定在|迁到|搬到"
)
HAN_JOINT = "必须|需要|应该|应当|可以|允许|支持|依赖|负责|由|按|以|要|需|得|只能|只"
HAN_VERBS = "返回|生成|运行|跑|提交|合并|审核|评审|审|保留|清理|删除|重试|接受|拒绝|推送|拉取|打包|构建|发布|监控|备份|同步|导出|导入|部署|渲染|加密|压缩|过期|执行|触发|更新|读取|写入|上传到"
HAN_JOINTS = "|".join(sorted(f"{HAN_IS}|{HAN_USE}|{HAN_AT}|{HAN_JOINT}".split("|"), key=len, reverse=True))
HAN_OPEN = frozenset(["使用", "采用", "用", "支持", "依赖", "允许", "需要", "改用"])
HAN_GLUE = (
    "我们|咱们|大家|我|你|您|他们|它|的|了|吧|呢|啊|呀|哦|嘛|把|请|都|也|就|再|还|这个|那个|这些|那些|这|那|记住|记一下|记得|记下|注意|提醒|提醒一下"
    "|以后|从现在起|从今往后|从今天起|今后|往后|现在|目前|已经|已|统一|一律|默认|之前|以前|原来|一直|项目里|项目|里面|里|中|上|下|(?:(?<=[一两二三四五六七八九十每])|^)个|条|套|方案|规则|规定|约定|决定|决策"
    "|说法|做法|一下|和|与|及|单个|所有|全部|会|能|从|到|那边|这边|另外|然后|所以|因此|因为|如果|可能|也许|大概|好像|应该|说|定了|定|全|跟|给|对|来|去|过|着|起"
)
HAN_LOOSE = frozenset("个次人位种项件份台张名遍回度的地得着过处时点")
HAN_PURPOSE = frozenset(["做", "作为", "当", "来做", "处理", "管理", "负责"])
