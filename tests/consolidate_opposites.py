"""Pairs of statements, and what they are to each other, whichever came first."""

from __future__ import annotations

# The same subject, the opposite or another value.
CONTRARY = """
Tests run before each commit. | Tests run after each commit.
Deploy with downtime. | Deploy without downtime.
Merge with squash. | Merge without squash.
Run the migrations before the deploy. | Run the migrations after the deploy.
Merge main into develop. | Merge develop into main.
Copy staging to production. | Copy production to staging.
Copy the fixtures from Oslo to Bergen. | Copy the fixtures from Bergen to Oslo.
Scale up at 9 am. | Scale down at 9 am.
Reviews need approval from Anna. | Reviews need approval to Anna.
The parser runs inside the sandboxed worker. | The parser runs outside the sandboxed worker.
The banner is shown above the table. | The banner is shown below the table.
Passwords have at least 12 characters. | Passwords have at most 12 characters.
A batch holds more than 50 rows. | A batch holds less than 50 rows.
The feature flag for search is on. | The feature flag for search is off.
Enable telemetry in the desktop client. | Disable telemetry in the desktop client.
The firewall allows outbound SMTP. | The firewall denies outbound SMTP.
The mailer sends messages synchronously. | The mailer sends messages asynchronously.
The importer keeps the first duplicate. | The importer keeps the last duplicate.
Run the linter before the formatter. | Run the formatter before the linter.
First run the tests, then build the image. | First build the image, then run the tests.
Move the records out of the ledger table. | Move the records into the ledger table.
Invoices are sorted in ascending order. | Invoices are sorted in descending order.
The exporter includes archived users. | The exporter excludes archived users.
Only admins approve refunds. | Admins also approve refunds.
The cron job waits until the queue is empty. | The cron job waits while the queue is empty.
Pay invoices within 30 days. | Pay invoices after 30 days.
Comments are mandatory for migrations. | Comments are optional for migrations.
部署前先跑迁移。 | 部署后再跑迁移。
接口由前端调用后端。 | 接口由后端调用前端。
部署之前跑冒烟测试。 | 部署之后跑冒烟测试。
先跑测试再合并分支。 | 先合并分支再跑测试。
密码长度要 12 位以上。 | 密码长度要 12 位以下。
日志启用压缩。 | 日志禁用压缩。
接口允许匿名访问。 | 接口禁止匿名访问。
列表按创建时间升序排列。 | 列表按创建时间降序排列。
提交信息必须写任务号。 | 提交信息不必写任务号。
退款要在 7 天内处理。 | 退款要在 7 天后处理。
把数据从主库同步到从库。 | 把数据从从库同步到主库。
缓存同步写入磁盘。 | 缓存异步写入磁盘。
文件上传到网关之前压缩。 | 文件上传到网关之后压缩。
并发至少开 4 个。 | 并发最多开 4 个。
校验放在前端做。 | 校验放在后端做。
合并时带上 squash。 | 合并时不带 squash。
审批由经理转给财务。 | 审批由财务转给经理。
merge 前要跑 CI。 | merge 后要跑 CI。
把 main 合并到 develop。 | 把 develop 合并到 main。
deploy 之前先备份 PostgreSQL。 | deploy 之后再备份 PostgreSQL。
Redis 开启 AOF。 | Redis 关闭 AOF。
The runtime is Bun. | The runtime is Node.
The database is PostgreSQL. | The database is MySQL.
数据库是 PostgreSQL。 | 数据库是 MySQL。
We use PostgreSQL 16 for the orders database. | We use MySQL for the orders database.
We use Bun instead of Node. | We switched back from Bun to Node.
The package manager is pnpm. | The package manager is yarn.
Standup is at nine. | Standup is at ten.
Restart the workers during the backup. | Restart the workers after the backup.
Never deploy with open incidents. | Never deploy without open incidents.
Push the image to the registry. | Pull the image from the registry.
The lock is taken before the write. | The lock is taken after the write.
Requests go through the proxy first, then the cache. | Requests go through the cache first, then the proxy.
Replicate from Frankfurt to Dublin. | Replicate from Dublin to Frankfurt.
Retries run in parallel. | Retries run in serial.
Turn the heating on in winter. | Turn the heating off in winter.
The report uses the newest snapshot. | The report uses the oldest snapshot.
Uploads must stay under 5 MB. | Uploads must stay over 5 MB.
Seeds are loaded from the fixture folder. | Seeds are loaded into the fixture folder.
The scheduler retries up to 3 times. | The scheduler retries at least 3 times.
Invoices are approved by Anna for Tom. | Invoices are approved by Tom for Anna.
Archive logs once the job is done, not before. | Archive logs before the job is done.
先写文档，再写代码。 | 先写代码，再写文档。
日志从服务器推送到客户端。 | 日志从客户端推送到服务器。
单次导入不超过 500 行。 | 单次导入至少 500 行。
附件在 30 天以内可以下载。 | 附件在 30 天以后可以下载。
扩容要手动触发。 | 扩容要自动触发。
邮箱字段是必填的。 | 邮箱字段是可选的。
构建任务并行执行。 | 构建任务串行执行。
会员价由运营报给财务。 | 会员价由财务报给运营。
release 之前冻结 main 分支。 | release 之后冻结 main 分支。
CI 先跑 lint 再跑 test。 | CI 先跑 test 再跑 lint。
Webhook 从 GitHub 发到 Slack。 | Webhook 从 Slack 发到 GitHub。
The token lives in the header, not the cookie. | The token lives in the cookie, not the header.
Redis 用来做缓存，不做队列。 | Redis 用来做队列，不做缓存。
Module 7 has 7 tests. | Module 7 has 9 tests.
模块 3 有 5 个测试。 | 模块 3 有 6 个测试。
Sprint 12 ends on Friday. | Sprint 12 ends on Monday.
The queue is RabbitMQ. | The queue is Kafka.
消息队列用 RabbitMQ。 | 消息队列用 Kafka 3。
CI 跑在 GitHub Actions 上。 | CI 跑在 Jenkins 上。
Send the digest before lunch. | Send the digest after lunch.
Build images with BuildKit. | Build images without BuildKit.
Sync the calendar from Outlook to Google. | Sync the calendar from Google to Outlook.
Rebase feature branches onto main. | Rebase main onto feature branches.
Logs older than 30 days are compressed before the upload. | Logs older than 30 days are compressed after the upload.
Feature toggles are enabled by default. | Feature toggles are disabled by default.
The sidebar is collapsed above 900 px. | The sidebar is collapsed below 900 px.
Validate input on the client. | Validate input on the server.
Each invoice carries at most 40 lines. | Each invoice carries at least 40 lines.
Release notes are written after the tag is pushed. | Release notes are written before the tag is pushed.
Dump the database, then stop the server. | Stop the server, then dump the database.
Passwords are optional for guests. | Passwords are mandatory for guests.
上线后冻结代码。 | 上线前冻结代码。
先评审后合并。 | 先合并后评审。
图片从 OSS 同步到本地。 | 图片从本地同步到 OSS。
单个文件不超过 20 MB。 | 单个文件不少于 20 MB。
缓存默认开启。 | 缓存默认关闭。
测试环境允许外网访问。 | 测试环境禁止外网访问。
消息按时间倒序显示。 | 消息按时间正序显示。
工单三天内关闭。 | 工单三天后关闭。
push 前要 rebase。 | push 后要 rebase。
表单校验在提交之前做。 | 表单校验在提交之后做。
We never deploy after 4 pm. | We never deploy before 4 pm.
The index is rebuilt after the backup. | The index is rebuilt before the backup.
Data flows from Kafka to ClickHouse. | Data flows from ClickHouse to Kafka.
Tokens are read from the vault. | Tokens are written to the vault.
发版前清理缓存。 | 发版后清理缓存。
图片上传前压缩。 | 图片上传后压缩。
日报在 18 点前提交。 | 日报在 18 点后提交。
群里只发中文。 | 群里也发中文。
The editor is Vim. | The editor is Emacs.
编辑器用 Vim。 | 编辑器用 Emacs。
Line 3 runs at 40 rpm. | Line 3 runs at 45 rpm.
Ask before force pushing. | Ask after force pushing.
Sign the build before uploading it. | Upload the build before signing it.
告警阈值大于 80%。 | 告警阈值小于 80%。
CPU 高于 90% 时扩容。 | CPU 低于 90% 时扩容。
The retry budget increases under load. | The retry budget decreases under load.
Scores higher than 7 pass. | Scores lower than 7 pass.
Alert when the queue is greater than 100. | Alert when the queue is less than 100.
"""

# Who does it and whom it is done to have changed places: both may hold, but they are not one statement.
ROLES = """
订单服务调用库存服务。 | 库存服务调用订单服务。
The gateway calls the ledger. | The ledger calls the gateway.
billing-api 依赖 user-api。 | user-api 依赖 billing-api。
The parser imports the lexer. | The lexer imports the parser.
The crawler notifies the indexer. | The indexer notifies the crawler.
The web module depends on the core module. | The core module depends on the web module.
网关转发请求给账单服务。 | 账单服务转发请求给网关。
Anna reports to Tom. | Tom reports to Anna.
Nginx forwards traffic to Envoy. | Envoy forwards traffic to Nginx.
支付模块依赖订单模块。 | 订单模块依赖支付模块。
Tom mentors Mira. | Mira mentors Tom.
CPU 优先于内存。 | 内存优先于 CPU。
"""

# Other subjects.
APART = """
Module 7 has 7 tests. | Module 8 has 8 tests.
Filler number 3 stands here. | Filler number 4 stands here.
模块 3 有 5 个测试。 | 模块 4 有 6 个测试。
Sprint 12 ends on Friday. | Sprint 13 ends on Monday.
Ticket ABC-12 is owned by Mira. | Ticket ABC-13 is owned by Jonas.
Alice reviews the parser. | Bob reviews the parser.
前端用 TypeScript。 | 后端用 TypeScript。
第 3 章讲缓存。 | 第 4 章讲索引。
The minimum pool size is 5. | The maximum pool size is 20.
worker-1 runs in Oslo. | worker-2 runs in Bergen.
Mira sings in the choir. | Jonas sings in the choir.
Mira mentors the interns. | Jonas mentors the interns.
Rule 4 covers imports. | Rule 5 covers exports.
Step 2 takes 40 seconds. | Step 3 takes 50 seconds.
Phase 1 costs 4000 euros. | Phase 2 costs 9000 euros.
第 2 步要 40 秒。 | 第 3 步要 50 秒。
任务 12 由小王负责。 | 任务 13 由小李负责。
节点 1 跑在上海。 | 节点 2 跑在北京。
The frontend is deployed from main. | The backend is deployed from main.
The public API is rate limited. | The private API is rate limited.
Before the deploy run the smoke tests. | After the deploy check the dashboards.
Input files are CSV. | Output files are JSON.
Upload limits are 5 MB. | Download limits are 50 MB.
Export runs at night. | Import runs in the morning.
At least 2 reviewers approve a change. | At most 5 reviewers approve a change.
部署前跑冒烟测试。 | 部署后看监控面板。
The mobile client caches images. | The mobile server caches images.
Bay 3 holds spare disks. | Bay 4 holds spare cables.
第一季度预算 20 万。 | 第二季度预算 30 万。
Karl waters the plants. | Ida waters the plants.
小王写前端。 | 小李写后端。
Lint runs before the commit. | The changelog is written after the release.
Data flows from Kafka to ClickHouse. | Alerts flow from Grafana to Slack.
Passwords have at least 12 characters. | Usernames have at most 30 characters.
Enable caching for images. | Disable caching for invoices.
Upload avatars to S3. | Download reports from S3.
部署前通知客服。 | 发版后清理缓存。
导入最多 500 行。 | 导出至少要 10 行。
Anna approves invoices from Oslo. | Anna approves contracts to Bergen.
Line 3 runs at 40 rpm. | Line 4 runs at 45 rpm.
The lower bound is 3. | The upper bound is 9.
"""

# The same in other words, or one of them more precise.
SAME = """
Tests run before each commit. | Before every commit the tests are run.
Run the tests before you commit. | Tests must run before committing.
Merge main into develop. | main is merged into develop.
Copy the fixtures from Oslo to Bergen. | From Oslo the fixtures are copied to Bergen.
Deploy without downtime. | We deploy without any downtime.
Passwords have at least 12 characters. | Passwords need at least 12 characters.
Reviews need approval from Anna. | Reviews need approval by Anna.
部署前先跑迁移。 | 部署之前要先跑迁移。
先跑测试再合并分支。 | 先跑测试，然后再合并分支。
把 main 合并到 develop。 | main 要合并到 develop。
merge 前要跑 CI。 | merge 之前必须跑 CI
Logs are written to /var/log/wren. | Write logs to /var/log/wren
密码长度要 12 位以上。 | 密码长度至少 12 位。
The runtime is Bun. | Our runtime is Bun
Never deploy without tests. | Always deploy with tests.
Do not disable telemetry in the client. | Enable telemetry in the client.
不要禁用缓存。 | 启用缓存。
Run the linter before the formatter. | The linter runs before the formatter.
Retries run up to 3 times. | Retries run at most 3 times.
Pay invoices within 30 days. | Invoices are paid within 30 days.
备份之后清理临时文件。 | 备份后要清理临时文件。
并发至少开 4 个。 | 并发最少要开 4 个。
deploy 之前先备份 PostgreSQL。 | deploy 前要备份 PostgreSQL。
Enable telemetry in the desktop client. | Telemetry is enabled in the desktop client.
The mailer sends messages asynchronously. | Messages are sent asynchronously by the mailer.
The scheduler calls the mailer. | The mailer is called by the scheduler.
接口由前端调用后端。 | 接口由前端来调用后端。
Only admins approve refunds. | Refunds are approved only by admins.
Merge with squash. | Always merge with squash
Copy staging to production. | Staging is copied to production.
Admins approve refunds. | Only admins approve refunds.
Send the digest before lunch. | The digest must be sent before lunch.
Build images with BuildKit. | Images are built with BuildKit.
Release notes are written after the tag is pushed. | After pushing the tag, write the release notes.
Feature branches are rebased onto main. | Rebase feature branches onto main.
Validate input on the server. | Input is validated on the server.
上线前冻结代码。 | 上线之前要冻结代码。
先评审后合并。 | 合并之前先评审。
缓存默认开启。 | 默认开启缓存。
消息按时间倒序显示。 | 消息要按时间倒序显示
单个文件不超过 20 MB。 | 单个文件最多 20 MB。
push 前要 rebase。 | push 之前必须 rebase
Sync the calendar from Outlook to Google. | The calendar is synced from Outlook to Google.
Nginx forwards traffic to Envoy. | Traffic is forwarded to Envoy by Nginx.
Dump the database, then stop the server. | Dump the database first, then stop the server.
Never merge without a review. | Merge only with a review.
Rollbacks are done from the release page. | Do rollbacks from the release page.
Use tabs for indentation. | Indentation uses tabs.
Tokens are read from the vault. | Read tokens from the vault.
Deploys to Oslo run at night. | At night the deploys to Oslo run.
Alerts go to the on-call channel. | Send alerts to the on-call channel.
The index is rebuilt every night after the backup. | After the backup the index is rebuilt every night.
备份存到 OSS，保留 30 天。 | 备份放到 OSS，保留 30 天
所有请求从网关进入。 | 请求统一从网关进入。
The budget is up to 500 euros a month. | The budget is at most 500 euros a month.
Only senior engineers merge to main. | Merging to main is done only by senior engineers.
We never deploy after 4 pm. | No deploys after 4 pm.
每天先开站会再写代码。 | 每天先站会，再写代码。
Sign the build before uploading it. | Builds are signed before the upload.
CPU 高于 90% 时扩容。 | CPU 高于 90% 就扩容
Alert when the queue is greater than 100. | Alert if the queue is more than 100.
"""


def pairs(table: str) -> list[tuple[str, str]]:
    """Each pair of the table in both orders."""
    found = [tuple(part.strip() for part in line.split("|")) for line in table.strip().splitlines()]
    return [pair for one, other in found for pair in ((one, other), (other, one))]
