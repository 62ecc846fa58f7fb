import type { ReportedRow } from './measure.ts'

type Measured = Pick<ReportedRow, 'bench' | 'title' | 'name' | 'median'>
/** A row by its benchmark, its title and its name. */
type Place = readonly [bench: string, title: string, name: string]

interface Path {
  readonly path: string
  readonly row: Place
  /** Its steps, one after the other, by their words in the table. */
  readonly parts: Readonly<Record<string, Place>>
}

const SYNC: Place = ['append', '64 callers', 'write + fdatasync, 64 per sync']
const APPEND: Place = ['append', '64 callers', 'embedded store, 64 callers']
const POST = 'bare Fastify POST of the same answer'
const [ONE_KEY, MANY_KEYS] = [
  'tools/call, one key, 64 connections',
  'tools/call, 1,000 keys in turn, 64 connections',
]
const REPLAY = 'replay of verdicts with outcomes'
const [PLAIN, TLS] = [
  '10000 deliveries of 0.8 KB, 100 endpoints',
  'kept connections over TLS, 10000 deliveries of 0.8 KB, 100 endpoints of as many hosts',
]

/** The paths that callers, subscribers and analysts take, and their parts. */
export const PATHS: readonly Path[] = [
  { path: 'durable append, 64 callers', row: APPEND, parts: { 'write + fdatasync': SYNC } },
  {
    path: 'keyed call, one key',
    row: ['calls', ONE_KEY, 'this edge, handshake era'],
    parts: { 'bare POST': ['calls', ONE_KEY, POST], append: APPEND },
  },
  {
    path: 'keyed call, 1,000 keys',
    row: ['calls', MANY_KEYS, 'this edge, handshake era'],
    parts: { 'bare POST': ['calls', MANY_KEYS, POST], append: APPEND },
  },
  {
    path: 'offer of a paid call',
    row: ['payments', 'offers, 64 connections', 'offer, without a payment'],
    parts: { 'bare POST': ['payments', 'offers, 64 connections', POST] },
  },
  {
    path: 'paid call',
    row: ['payments', 'paid calls, 64 connections', 'paid call, claim durable'],
    parts: {
      'bare POST': ['payments', 'paid calls, 64 connections', POST],
      signature: ['signatures', 'one core', 'hash by viem, libsecp256k1'],
      append: APPEND,
    },
  },
  {
    path: 'delivery over plain HTTP',
    row: ['webhooks', PLAIN, 'dispatcher, every attempt durable'],
    parts: {
      'request with a body and signatures': [
        'webhooks',
        PLAIN,
        'undici Pool, each with a body and signatures',
      ],
    },
  },
  {
    path: 'delivery over kept TLS',
    row: ['tls', TLS, 'dispatcher, every attempt durable'],
    parts: { 'request over TLS': ['tls', TLS, 'undici Pool, one request again and again'] },
  },
  {
    path: 'row of a replay as NDJSON',
    row: ['log', REPLAY, 'NDJSON over HTTP'],
    parts: { 'verdict read in process': ['log', REPLAY, 'the same verdicts read in process'] },
  },
  {
    path: 'event folded into `latest_verdicts`',
    row: ['log', 'reading the log', 'latest_verdicts rebuilt'],
    parts: { 'row read, JSON parsed': ['log', 'reading the log', 'SQLite pages of 500 + JSON.parse(data)'] },
  },
  {
    path: 'entry of the transparency tree',
    row: ['proof', '100,000 entries', 'transparency_tree folded'],
    parts: {
      'content hashed': ['proof', '100,000 entries', 'contents hashed into entries'],
      'leaf hashed': ['proof', '100,000 entries', 'leaves hashed into a root'],
    },
  },
]

/**
 * The limit of each path from its parts in the same run, as if one core did them one after the other: a line
 * of a table. A path whose rows were not measured is left out.
 */
export function pathLimits(rows: readonly Measured[]): readonly string[] {
  const microsecondsOf = ([bench, title, name]: Place): number => {
    const row = rows.find((each) => each.bench === bench && each.title === title && each.name === name)
    return row === undefined ? Number.NaN : 1e6 / row.median
  }
  return PATHS.flatMap(({ path, row, parts }) => {
    const took = microsecondsOf(row)
    const pieces = Object.entries(parts).map(([what, place]) => [what, microsecondsOf(place)] as const)
    const limit = pieces.reduce((sum, [, microseconds]) => sum + microseconds, 0)
    if (Number.isNaN(took + limit)) return []
    const named = pieces.map(([what, microseconds]) => `${what} ${microseconds.toFixed(1)}`).join(' + ')
    return [
      `| ${path} | ${named} | ${limit.toFixed(1)} µs | ${took.toFixed(1)} µs | ${(limit / took).toFixed(2)} |`,
    ]
  })
}
