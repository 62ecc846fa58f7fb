import { z } from 'zod'
import { addressSchema, parseUsdc, USDC_TEXT } from '../../../contracts/chain.ts'
import { MARKET_KINDS } from '../../../contracts/event-catalogue.ts'
import { EXCHANGES, type Exchange, isExchange } from '../../../contracts/exchanges.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { coinSchema } from '../../../contracts/series.ts'
import { TIMEFRAMES } from '../../../contracts/timeframes.ts'

export const ROLES = ['api', 'engine', 'projector', 'dispatcher', 'settler'] as const
export type Role = (typeof ROLES)[number]

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const

/** How one setting is given, read and explained. `docs/settings.md` is generated from this. */
export interface SettingDefinition<Schema extends z.ZodType = z.ZodType> {
  readonly flag: string
  readonly schema: Schema
  /** What it does, and its default, for people. */
  readonly help: string
  /** Never shown. */
  readonly isSecret?: boolean
  /** True or false; as a flag it needs no value. */
  readonly isSwitch?: boolean
  /** What to write instead of a value that was refused. */
  readonly example: string
}

const listOf = <Item extends z.ZodType<unknown, string>>(item: Item) =>
  z
    .string()
    .transform((text) => text.split(',').map((part) => part.trim()))
    .pipe(z.array(item).min(1).max(500))

/** Digits as people write them: no blanks, signs or exponents. */
const decimal = (pattern: RegExp) =>
  z.string().regex(pattern, { error: 'must be a number' }).transform(Number)

/** A list, or `all`, which leaves it to the market. */
const listOrAll = <Item extends z.ZodType<unknown, string>>(item: Item) =>
  z.union([z.literal('all').transform(() => undefined), listOf(item)]).optional()

const instant = z
  .union([z.iso.date(), z.iso.datetime({ offset: true })])
  .transform((text) => Date.parse(text))
  .optional()

const url = (protocols: readonly string[], characters = 2_048) =>
  z
    .string()
    .max(characters)
    .refine((text) => URL.canParse(text) && protocols.includes(new URL(text).protocol), {
      message: `must be a URL with ${protocols.join(' or ')}`,
    })
    .optional()

const venueUrls = z
  .string()
  .transform((text, context) => {
    const urls: Partial<Record<Exchange, string>> = {}
    for (const part of text.split(',')) {
      const [, exchange = '', address = ''] = /^\s*([A-Z]+)=(\S+)\s*$/.exec(part) ?? []
      if (!isExchange(exchange) || !/^https?:/.test(address) || !URL.canParse(address)) {
        context.addIssue('must be EXCHANGE=URL, separated by commas')
        return z.NEVER
      }
      const { username, password, search, hash } = new URL(address)
      if (`${username}${password}${search}${hash}` !== '') {
        context.addIssue(
          `must hold no user, no password, no ? and no #: see ${exchange}. A key may stand in the path`,
        )
        return z.NEVER
      }
      urls[exchange] = address
    }
    return urls
  })
  .optional()

const requestsPerSecond = (fallback: number) =>
  z
    .union([
      z.literal('off').transform(() => undefined),
      decimal(/^\d{1,7}$/).pipe(z.number().min(1).max(LIMITS.ratePerSecond)),
    ])
    .prefault(`${fallback}`)

/** An amount of USDC, as people write it, in millionths. */
const usdc = (fallback: string) =>
  z.string().regex(USDC_TEXT, { error: 'must be an amount of USDC' }).prefault(fallback).transform(parseUsdc)

const network = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()])

/** Which proxies are believed: so many hops, or those in these networks; undefined for none. */
const trustProxy = z
  .string()
  .transform((text, context) => {
    if (text === 'off') return undefined
    const hops = /^\d{1,2}$/.test(text) ? Number(text) : undefined
    if (hops !== undefined && hops >= 1 && hops <= LIMITS.proxyHops) return { hops }
    const networks = text.split(',').map((part) => part.trim())
    if (networks.length <= LIMITS.proxyNetworks && networks.every((one) => network.safeParse(one).success)) {
      return { networks }
    }
    context.addIssue(`must be off, 1 to ${LIMITS.proxyHops} hops, or networks separated by commas`)
    return z.NEVER
  })
  .optional()

/** @returns off unless it is given */
const onOrOff = () =>
  z
    .enum(['true', 'false'])
    .default('false')
    .transform((text) => text === 'true')

const define = <const Definitions extends Record<string, SettingDefinition>>(definitions: Definitions) =>
  definitions

export const SETTINGS = define({
  HOST: {
    flag: 'host',
    schema: z.string().min(1).default('127.0.0.1'),
    help: 'Address to listen on. Default: 127.0.0.1, this machine only.',
    example: '0.0.0.0',
  },
  PORT: {
    flag: 'port',
    schema: decimal(/^\d{1,5}$/)
      .pipe(z.number().max(65_535))
      .default(8402),
    help: 'Port to listen on; 0 takes any free one. Default: 8402.',
    example: '8402',
  },
  PUBLIC_URL: {
    flag: 'public-url',
    // It is part of bodies that have a largest size.
    schema: url(['http:', 'https:'], LIMITS.webhookBaseUrlCharacters),
    help: 'The address under which callers reach the service. Default: http://HOST:PORT.',
    example: 'https://signals.example.com',
  },
  TRUST_PROXY: {
    flag: 'trust-proxy',
    schema: trustProxy,
    help: `Whose X-Forwarded-For is believed: off; the number of proxies in front of the service, from 1 to ${LIMITS.proxyHops}; or the networks they are in, separated by commas. Believing it without a proxy lets every caller choose an address. Default: off.`,
    example: '10.0.0.0/8,fd00::/8',
  },
  RATE_PER_ADDRESS: {
    flag: 'rate-per-address',
    schema: requestsPerSecond(100),
    help: 'Requests a second that are answered to one client address (IPv6: one /64 network), or off. Default: 100.',
    example: '100',
  },
  RATE_PER_KEY: {
    flag: 'rate-per-key',
    schema: requestsPerSecond(50),
    help: 'Requests a second that are answered to one API key, or off. They count for its address too. Default: 50.',
    example: '50',
  },
  SMTP_URL: {
    flag: 'smtp-url',
    schema: url(['smtp:', 'smtps:']),
    help: 'Mail server that sign-in codes are sent by. Default: none, they are shown to the operator on standard error.',
    isSecret: true,
    example: 'smtp://name:password@mail.example.com:587',
  },
  MAIL_FROM: {
    flag: 'mail-from',
    schema: z.string().min(3).max(320).default('signal-service@localhost'),
    help: 'Sender of mails. Default: signal-service@localhost.',
    example: 'Signals <signals@example.com>',
  },
  ORIGINS: {
    flag: 'origins',
    schema: listOf(
      z.string().refine((text) => /^https?:\/\/[^/]+$/.test(text) && URL.canParse(text), {
        message: 'must be an origin, without a path',
      }),
    ).optional(),
    help: 'Web pages, besides its own, whose scripts may call /mcp, as origins separated by commas. Default: none.',
    example: 'https://app.example.com',
  },
  MCP_CONFORMANCE: {
    flag: 'mcp-conformance',
    schema: z
      .enum(['0', '1'])
      .default('0')
      .transform((text) => text === '1'),
    help: 'For the conformance suite of the Model Context Protocol: 1 adds the tools, resources and prompts that it asks for. Default: 0.',
    example: '1',
  },
  DATA_DIR: {
    flag: 'data-dir',
    schema: z.string().min(1).default('./data'),
    help: 'Folder for the embedded store, the read models and the sealing key; one sub-folder per kind of market. Default: ./data.',
    example: './data',
  },
  ROLES: {
    flag: 'roles',
    schema: listOf(z.enum(ROLES)).default([...ROLES]),
    help: `What this process does: ${ROLES.join(', ')}. Default: all. Fewer than all need EVENTSTORE_URL, so that the processes share a store.`,
    example: 'api,projector',
  },
  MARKET: {
    flag: 'market',
    schema: z.enum(MARKET_KINDS).default('simulated'),
    help: 'Where bars come from: simulated (a made-up market on the exchange SIM), recorded (files) or live (the venues). Default: simulated.',
    example: 'simulated',
  },
  MARKET_DATA: {
    flag: 'data',
    schema: z.string().min(1).optional(),
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
    flag: 'exchanges',
    schema: listOrAll(z.enum(EXCHANGES)),
    help: 'Exchanges to monitor, separated by commas. Default: all that the market has.',
    example: 'BINANCE,HL',
  },
  COINS: {
    flag: 'coins',
    schema: listOrAll(coinSchema),
    help: 'Coins to monitor, separated by commas. Default: all that the market has.',
    example: 'BTC,ETH',
  },
  TIMEFRAMES: {
    flag: 'timeframes',
    schema: listOrAll(z.enum(TIMEFRAMES)),
    help: 'Timeframes to monitor, separated by commas. Default: all that the market has.',
    example: '15m,1h',
  },
  TOP_COINS: {
    flag: 'top-coins',
    schema: decimal(/^\d{1,3}$/)
      .pipe(z.number().min(1).max(LIMITS.scanCoins))
      .default(20),
    help: 'Live market: how many coins of each exchange are monitored, the largest by 24-hour volume, unless COINS names them. Default: 20.',
    example: '50',
  },
  VENUE_URLS: {
    flag: 'venue-urls',
    schema: venueUrls,
    help: 'Live market: other base addresses for exchanges, as EXCHANGE=URL separated by commas: a proxy, or a venue of your own for tests. Default: the addresses of the exchanges.',
    isSecret: true,
    example: 'BINANCE=http://127.0.0.1:9000',
  },
  EVENTSTORE_URL: {
    flag: 'eventstore-url',
    schema: url(['esdb:', 'esdb+discover:', 'kurrentdb:', 'kurrentdb+discover:']),
    help: 'EventStoreDB to keep the log in. Default: the embedded store in DATA_DIR.',
    isSecret: true,
    example: 'esdb://localhost:2113?tls=false',
  },
  NATS_URL: {
    flag: 'nats-url',
    schema: url(['nats:', 'tls:']),
    help: 'NATS server with JetStream that carries signals between processes. Default: none, signals stay in this process.',
    isSecret: true,
    example: 'nats://localhost:4222',
  },
  REDIS_URL: {
    flag: 'redis-url',
    schema: url(['redis:', 'rediss:']),
    help: 'Redis server for what may be lost (rate limits, hot answers). Default: none, memory.',
    isSecret: true,
    example: 'redis://localhost:6379',
  },
  SEALING_KEY: {
    flag: 'sealing-key',
    schema: z
      .string()
      .refine((text) => /^[A-Za-z0-9+/]{43}=$/.test(text), { message: 'must be 32 bytes in base64' })
      .optional(),
    help: 'Master key, 32 bytes in base64, from which the secrets of the store are derived. Default: made on the first start and kept in DATA_DIR.',
    isSecret: true,
    example: 'the output of: openssl rand -base64 32',
  },
  OPERATOR_TOKEN: {
    flag: 'operator-token',
    schema: z.string().min(16).max(256).optional(),
    help: 'Bearer token that shows an operator everything, also verdicts whose window is still open. Default: none, nobody sees them.',
    isSecret: true,
    example: 'the output of: openssl rand -hex 32',
  },
  X402_PAY_TO: {
    flag: 'x402-pay-to',
    schema: addressSchema.optional(),
    help: 'Address on Base that USDC is paid to. Default: none, calls cannot be paid for one by one.',
    example: '0x2222222222222222222222222222222222222222',
  },
  X402_RPC_URL: {
    flag: 'x402-rpc-url',
    schema: url(['http:', 'https:']),
    help: 'Node of the Base chain that payers are checked by and payments are settled through. Default: none; then X402_FACILITATOR_URL settles, or payments are not taken.',
    isSecret: true,
    example: 'https://base.example.com/v1/key',
  },
  X402_SETTLER_KEY: {
    flag: 'x402-settler-key',
    schema: z
      .string()
      .refine((text) => /^0x[0-9a-f]{64}$/i.test(text), { message: 'must be 0x and 64 hexadecimal digits' })
      .optional(),
    help: 'Private key of the wallet that sends settlements and pays their gas; needs X402_RPC_URL. It can spend nothing of the payers, and receives nothing. Default: none.',
    isSecret: true,
    example: 'the output of: echo 0x$(openssl rand -hex 32)',
  },
  X402_FACILITATOR_URL: {
    flag: 'x402-facilitator-url',
    schema: url(['http:', 'https:']),
    help: 'Facilitator that settles instead of a wallet of our own (/verify, /settle, /supported). Default: none.',
    example: 'https://api.cdp.coinbase.com/platform/v2/x402',
  },
  X402_FACILITATOR_TOKEN: {
    flag: 'x402-facilitator-token',
    schema: z.string().min(1).max(4_096).optional(),
    help: 'Bearer token for the facilitator. Default: none.',
    isSecret: true,
    example: 'the token that your facilitator gave you',
  },
  X402_CDP_KEY: {
    flag: 'x402-cdp-key',
    schema: z
      .string()
      .refine((text) => /^[^:\s]{1,256}:\S{1,4096}$/.test(text), { message: 'must be id:secret' })
      .optional(),
    help: "Key of Coinbase's Developer Platform, as id:secret; a token for each request to the facilitator is made of it. Default: none.",
    isSecret: true,
    example: '0f5c…:MC4CAQAwBQYDK2VwBCIEIE…',
  },
  X402_GATEWAY_URL: {
    flag: 'x402-gateway-url',
    schema: z.union([z.literal('off'), url(['http:', 'https:']).unwrap()]).optional(),
    help: 'Facilitator of the payment gateway that is offered as a second rail, or off. Default: https://gateway-api.circle.com/v1/x402 on a live market; otherwise the rail is offered and not taken.',
    example: 'off',
  },
  X402_PAYER_CAP: {
    flag: 'x402-payer-cap',
    schema: usdc('1'),
    help: 'USDC that one payer may have claimed and not settled; beyond it answers wait for the settlement. Default: 1.',
    example: '0.5',
  },
  X402_TOTAL_CAP: {
    flag: 'x402-total-cap',
    schema: usdc('50'),
    help: 'USDC that all payers together may have claimed and not settled; beyond it payments are not taken. Default: 50.',
    example: '20',
  },
  DEMO_CHAIN: {
    flag: 'demo-chain',
    schema: onOrOff(),
    isSwitch: true,
    help: 'Starts a chain of its own on this machine, with play money, so that a paid call can be tried; not with a live market. As a flag it needs no value. Default: false.',
    example: 'true',
  },
  WEBHOOKS_ALLOW_PRIVATE: {
    flag: 'webhooks-allow-private',
    schema: onOrOff(),
    isSwitch: true,
    help: 'For trials on one machine: webhooks may go to loopback and private addresses, over plain HTTP and to any port. As a flag it needs no value. Default: false.',
    example: 'true',
  },
  LLM_BASE_URL: {
    flag: 'llm-base-url',
    schema: url(['http:', 'https:']),
    help: 'An OpenAI-compatible endpoint that answers chats from the passages of the documentation; needs LLM_MODEL. Default: none, answers are passages themselves.',
    isSecret: true,
    example: 'https://api.openai.com/v1',
  },
  LLM_MODEL: {
    flag: 'llm-model',
    schema: z
      .string()
      .regex(/^[\w.:/-]{1,100}$/)
      .optional(),
    help: 'Name of the model at LLM_BASE_URL. Default: none.',
    example: 'gpt-5-mini',
  },
  LLM_API_KEY: {
    flag: 'llm-api-key',
    schema: z.string().min(1).max(1_024).optional(),
    help: 'Key for LLM_BASE_URL. Default: none.',
    isSecret: true,
    example: 'the key that your provider gave you',
  },
  LOG_LEVEL: {
    flag: 'log-level',
    schema: z.enum(LOG_LEVELS).default('warn'),
    help: `Least important log lines written to standard error as JSON: ${LOG_LEVELS.join(', ')}. Default: warn.`,
    example: 'info',
  },
  CONSOLE: {
    flag: 'console',
    schema: z.enum(['on', 'off']).default('on'),
    help: 'Lines for people on standard output: what runs, verdicts as they come, progress. Default: on.',
    example: 'off',
  },
  EXIT_AT_END: {
    flag: 'exit-at-end',
    schema: onOrOff(),
    isSwitch: true,
    help: 'Recorded market: end the process after the last bar instead of serving on. As a flag it needs no value. Default: false.',
    example: 'true',
  },
})

export type SettingName = keyof typeof SETTINGS

/** All settings, read and checked. */
export type Settings = { readonly [Name in SettingName]: z.output<(typeof SETTINGS)[Name]['schema']> }
