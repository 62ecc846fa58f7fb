import { z } from 'zod'
import {
  coinParameter,
  exchangeParameter,
  timeframeParameter,
} from '../../../contracts/answers/parameters.ts'
import { MARKET_KINDS } from '../../../contracts/events/event-catalogue.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { KEY_SETTINGS } from './key-setting-definitions.ts'
import { PAYMENT_SETTINGS } from './payment-setting-definitions.ts'
import { defineSettings } from './setting-definition.ts'
import {
  decimal,
  eventStoreUrl,
  hostSetting,
  instant,
  listOf,
  listOrAll,
  onOrOff,
  path,
  requestsPerSecond,
  trustProxy,
  url,
  venueUrls,
} from './setting-schemas.ts'
import { TRANSPARENCY_LOG_SETTINGS } from './transparency-log-setting-definitions.ts'

export const ROLES = ['api', 'engine', 'projector', 'dispatcher', 'settler'] as const

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const

export const SETTINGS = defineSettings({
  HOST: {
    schema: z.string().min(1).default('127.0.0.1'),
    help: 'Address to listen on. Default: 127.0.0.1, this machine only.',
    example: '0.0.0.0',
  },
  PORT: {
    schema: decimal(/^\d{1,5}$/)
      .pipe(z.number().max(65_535))
      .default(8402),
    help: 'Port to listen on; 0 takes any free one. Default: 8402.',
    example: '8402',
  },
  PUBLIC_URL: {
    // It is part of bodies that have a largest size.
    schema: url(['http:', 'https:'], LIMITS.publicUrlCharacters),
    help: 'The address under which callers reach the service. Default: http://HOST:PORT, and the address of this machine itself where HOST stands for all addresses.',
    example: 'https://signals.example.com',
  },
  HEALTH_PORT: {
    schema: decimal(/^\d{1,5}$/)
      .pipe(z.number().max(65_535))
      .optional(),
    help: 'Port for the operator’s machines: /readyz with all it knows, /metrics, /livez, and nothing else; 0 takes any free one. Default: none, both take OPERATOR_TOKEN.',
    example: '9402',
  },
  HEALTH_HOST: {
    schema: z.string().min(1).default('127.0.0.1'),
    help: 'Address that HEALTH_PORT listens on; every host that reaches it can read the metrics. Default: 127.0.0.1, this machine only.',
    example: '0.0.0.0',
  },
  TRUST_PROXY: {
    schema: trustProxy,
    help: `Whose X-Forwarded-For is believed: off; the number of proxies in front of the service, from 1 to ${LIMITS.proxyHops}; or the networks they are in, separated by commas. Believing it without a proxy lets every caller choose an address. Default: off.`,
    example: '10.0.0.0/8,fd00::/8',
  },
  RATE_PER_ADDRESS: {
    schema: requestsPerSecond(100),
    help: 'Requests a second that are answered to one client address (IPv6: one /64 network), or off. Default: 100.',
    example: '100',
  },
  RATE_PER_KEY: {
    schema: requestsPerSecond(50),
    help: 'Requests a second that are answered to one API key, or off. They count for its address too. Default: 50.',
    example: '50',
  },
  SMTP_URL: {
    schema: url(['smtp:', 'smtps:']),
    help: 'Mail server that sign-in codes and notices to owners of webhooks are sent by. Default: none; codes are shown to the operator on standard error.',
    isSecret: true,
    example: 'smtp://name:password@mail.example.com:587',
  },
  MAIL_FROM: {
    schema: z.string().min(3).max(320).default('signal-service@localhost'),
    help: 'Sender of mails. Default: signal-service@localhost.',
    example: 'Signals <signals@example.com>',
  },
  ORIGINS: {
    schema: listOf(
      z.string().refine((text) => /^https?:\/\/[^/]+$/.test(text) && URL.canParse(text), {
        message: 'must be an origin, without a path',
      }),
    ).optional(),
    help: 'Web pages, besides its own, whose scripts may call /mcp, as origins separated by commas. Default: none.',
    example: 'https://app.example.com',
  },
  DATA_DIR: {
    schema: path.default('./data'),
    help: 'Folder for the embedded store, the read models and the sealing key; one sub-folder per kind of market. Default: ./data.',
    example: './data',
  },
  ROLES: {
    schema: listOf(z.enum(ROLES)).default([...ROLES]),
    help: `What this process does: ${ROLES.join(', ')}. Default: all. Fewer than all need EVENTSTORE_URL, so that the processes share a store.`,
    example: 'api,projector',
  },
  MARKET: {
    schema: z.enum(MARKET_KINDS).default('simulated'),
    help: 'Where bars come from: simulated (a made-up market on the exchange SIM), recorded (files) or live (the venues). Default: simulated.',
    example: 'simulated',
  },
  MARKET_DATA: {
    flag: 'data',
    schema: path.optional(),
    help: 'Folder of recorded candles; needed for MARKET=recorded. The folder is named after the exchange, or EXCHANGES names it.',
    example: './binance-usdm',
  },
  MARKET_SPEED: {
    flag: 'speed',
    schema: decimal(/^\d{1,6}(\.\d{1,6})?$/)
      .pipe(z.number().positive().max(100_000))
      .optional(),
    help: 'How many times faster than the clock the market runs. Default: 1 for a simulated market, as fast as possible for a recorded one.',
    example: '60',
  },
  FRESH: {
    schema: onOrOff(),
    isSwitch: true,
    help: 'Simulated market: begin now. Without it a first start records the newest bars of every series as a market with a past would have. As a flag it needs no value. Default: false.',
    example: 'true',
  },
  MARKET_SEED: {
    flag: 'seed',
    schema: z.string().min(1).max(64).default('signal'),
    help: 'Seed of the simulated market: another seed is another market. Default: signal.',
    example: 'my-market',
  },
  MARKET_FROM: {
    flag: 'from',
    schema: instant,
    help: 'Recorded market: verdicts are recorded for bars that close after this instant (ISO 8601, UTC); bars before it warm up. Default: the beginning.',
    example: '2024-01-01',
  },
  MARKET_TO: {
    flag: 'to',
    schema: instant,
    help: 'Recorded market: the replay ends here (ISO 8601, UTC). Default: the end of the data.',
    example: '2024-07-01T00:00:00Z',
  },
  EXCHANGES: {
    schema: listOrAll(exchangeParameter),
    help: 'Exchanges to monitor, separated by commas. Default: all that the market has.',
    example: 'BINANCE,HL',
  },
  COINS: {
    schema: listOrAll(coinParameter),
    help: 'Coins to monitor, separated by commas. Default: all that the market has.',
    example: 'BTC,ETH',
  },
  SIMULATED_COINS: {
    schema: listOf(coinParameter).optional(),
    help: 'Coins of your own invention that the simulated market has besides its own, separated by commas. Default: none, and a coin that it does not know is refused.',
    example: 'MINE,YOURS',
  },
  TIMEFRAMES: {
    schema: listOrAll(timeframeParameter),
    help: 'Timeframes to monitor, separated by commas. Default: all that the market has.',
    example: '15m,1h',
  },
  TOP_COINS: {
    schema: decimal(/^\d{1,3}$/)
      .pipe(z.number().min(1).max(LIMITS.scanCoins))
      .default(20),
    help: 'Live market: how many coins of each exchange are monitored, the largest by 24-hour volume, unless COINS names them. Default: 20.',
    example: '50',
  },
  VENUE_URLS: {
    schema: venueUrls,
    help: 'Live market: other base addresses for exchanges, as EXCHANGE=URL separated by commas: a proxy, or a venue of your own for tests. Default: the addresses of the exchanges.',
    isSecret: true,
    example: 'BINANCE=http://127.0.0.1:9000',
  },
  EVENTSTORE_URL: {
    schema: eventStoreUrl,
    help: 'EventStoreDB or KurrentDB to keep the log in: one node, or the nodes of a cluster separated by commas. Default: the embedded store in DATA_DIR.',
    isSecret: true,
    example: 'esdb://localhost:2113?tls=false',
  },
  ACCEPT_LOST_END: {
    schema: decimal(/^[1-9]\d{0,15}$/).optional(),
    help: 'Position at which a log of DATA_DIR that lost its newest events is gone on with, as the start that refused it said (exit code 22). The log records it. Has no effect on a log that is whole, or ends elsewhere. Default: none.',
    example: '120000',
  },
  STORE_WAIT: {
    schema: decimal(/^\d{1,4}$/).default(120),
    help: 'Seconds for which a start waits for an event store that is away before it ends with exit code 5. Default: 120.',
    example: '30',
  },
  NATS_URL: {
    schema: url(['nats:', 'tls:']),
    help: 'NATS server that wakes other processes and carries their requests. Default: none, all stays in this process.',
    isSecret: true,
    example: 'nats://localhost:4222',
  },
  REDIS_URL: {
    schema: url(['redis:', 'rediss:']),
    help: 'Redis server for the counters of rate limits, which may be lost. Default: none, memory.',
    isSecret: true,
    example: 'redis://localhost:6379',
  },
  ...KEY_SETTINGS,
  OPERATOR_TOKEN: {
    schema: z.string().min(16).max(256).optional(),
    help: 'Bearer token that shows an operator everything, also verdicts whose window is still open. Default: none, nobody sees them.',
    isSecret: true,
    example: 'the output of: openssl rand -hex 32',
  },
  ...PAYMENT_SETTINGS,
  WEBHOOKS_ALLOW_PRIVATE: {
    schema: onOrOff(),
    isSwitch: true,
    help: 'For trials on one machine: webhooks may go to loopback and private addresses, over plain HTTP and to any port. As a flag it needs no value. Default: false.',
    example: 'true',
  },
  WEBHOOK_BLOCKED_HOSTS: {
    schema: listOf(hostSetting).default([]),
    help: 'Hosts that nothing is sent to, nor to names below them; separated by commas. Default: none.',
    example: 'bot.example.com,203.0.113.7',
  },
  LLM_BASE_URL: {
    schema: url(['http:', 'https:']),
    help: 'An OpenAI-compatible endpoint that answers chats from the passages of the documentation; needs LLM_MODEL. Default: none, answers are passages themselves.',
    isSecret: true,
    example: 'https://api.openai.com/v1',
  },
  LLM_MODEL: {
    schema: z
      .string()
      .regex(/^[\w.:/-]{1,100}$/)
      .optional(),
    help: 'Name of the model at LLM_BASE_URL. Default: none.',
    example: 'gpt-5-mini',
  },
  LLM_API_KEY: {
    schema: z.string().min(1).max(1_024).optional(),
    help: 'Key for LLM_BASE_URL. Default: none.',
    isSecret: true,
    example: 'the key that your provider gave you',
  },
  ...TRANSPARENCY_LOG_SETTINGS,
  LOG_LEVEL: {
    schema: z.enum(LOG_LEVELS).default('warn'),
    help: `Least important log lines written to standard error as JSON: ${LOG_LEVELS.join(', ')}. Default: warn.`,
    example: 'info',
  },
  CONSOLE: {
    schema: z.enum(['on', 'reasons', 'off']).default('on'),
    help: 'Lines for people on standard output: what runs, calls as they come, progress; reasons adds the sentence of each call. Default: on.',
    example: 'off',
  },
  EXIT_AT_END: {
    schema: onOrOff(),
    isSwitch: true,
    help: 'Recorded market: end the process after the last bar instead of serving on. As a flag it needs no value. Default: false.',
    example: 'true',
  },
})

export type SettingName = keyof typeof SETTINGS

/** All settings, read and checked. */
export type Settings = { readonly [Name in SettingName]: z.output<(typeof SETTINGS)[Name]['schema']> }
