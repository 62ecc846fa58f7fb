import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { importsOf } from './imports-of.fixture.ts'

const ROOT = resolve(import.meta.dirname, '../..')

/** Layers, lowest first, each a list of rooms. A file imports from its own room and from layers below. */
export const LAYERS: readonly (readonly string[])[] = [
  // Customers take clients with them, so they stand on nothing.
  ['contracts', 'clients/typescript', 'clients/mcp'],
  ['projections'],
  ['services/runtime'],
  ['services/log'],
  [
    'services/market',
    'services/engine',
    'services/accounts',
    'services/payments',
    'services/webhooks',
    'services/knowledge',
    'services/analyst',
    'services/proof',
  ],
  ['services/tool-calls'],
  ['services/http'],
  ['services/mcp', 'services/pages'],
  ['services/composition'],
  ['services/cli'],
  // What starts a process.
  ['services'],
  ['testing'],
  ['bench', 'tools'],
]

/** Others enter these through their index; see `services/tool-calls/index.ts`. */
const WITH_A_DOOR: ReadonlySet<string> = new Set([...(LAYERS[4] ?? []), 'services/tool-calls'])

/** They measure, fit and test the inside, and do not ship. */
const WORKSHOPS: ReadonlySet<string> = new Set(['bench', 'tools', 'testing'])

/**
 * Packages, and modules of Node.js that come with native code or another process, with the places that may import
 * them. A name stands for everything below it: `viem` for `viem/accounts` too.
 */
export const OWNERS: Readonly<Record<string, readonly string[]>> = {
  '@eventstore/db-client': ['services/log/'],
  '@fastify/accepts': ['services/composition/server.ts'],
  '@fastify/formbody': ['services/http/', 'services/pages/'],
  '@fastify/swagger': ['services/http/openapi.ts'],
  '@grpc/grpc-js': ['services/log/eventstoredb/', 'testing/eventstoredb-double/'],
  // It referees in tests and benches; the product speaks the protocol itself.
  '@modelcontextprotocol': ['bench/'],
  ccxt: ['services/market/live/'],
  fastify: ['services/http/', 'services/mcp/', 'services/pages/', 'services/composition/server.ts'],
  'fastify-type-provider-zod': [
    'services/http/',
    'services/mcp/',
    'services/pages/',
    'services/composition/server.ts',
  ],
  'fastest-levenshtein': ['contracts/infra/input-faults.ts'],
  'hyparquet-writer': ['services/analyst/formats/'],
  aws4fetch: ['services/log/backup/'],
  ioredis: ['services/runtime/cache/'],
  jose: ['services/payments/settlement/'],
  'ipaddr.js': ['services/http/client-address.ts', 'services/webhooks/sending/'],
  marked: ['services/knowledge/', 'services/pages/'],
  minisearch: ['services/knowledge/'],
  'lightweight-charts': ['services/pages/assets.ts'],
  nats: ['services/runtime/bus/'],
  'node:child_process': ['services/analyst/page-keeper.ts', 'services/own-node.js'],
  'node:dns': ['services/webhooks/sending/'],
  'node:http': ['services/http/'],
  'node:sqlite': ['services/runtime/sqlite/', 'services/log/projector/', 'services/log/embedded/'],
  'node:worker_threads': ['services/analyst/', 'services/log/embedded/'],
  'lru-cache': ['services/runtime/cache/'],
  nodemailer: ['services/accounts/mail/'],
  pino: ['services/runtime/logging/'],
  'prom-client': ['services/http/', 'services/mcp/', 'services/composition/'],
  'rate-limiter-flexible': ['services/http/'],
  secp256k1: ['services/payments/verification/'],
  undici: ['services/webhooks/sending/', 'services/cli/kit/'],
  viem: ['services/payments/'],
  yauzl: ['services/market/recorded/'],
}

const isForTests = (file: string): boolean => /\.(?:test|contract|fixture)\.ts$|(?:^|\/)testing\//.test(file)

interface Place {
  readonly room: string
  readonly layer: number
}

/** The room with the longest name that a file is in; paths are relative to the root. */
export function roomOf(file: string): Place | undefined {
  const places = LAYERS.flatMap((rooms, layer) => rooms.map((room) => ({ room, layer })))
  return places
    .filter(({ room }) => file.startsWith(`${room}/`))
    .toSorted((a, b) => b.room.length - a.room.length)
    .find(({ room }) => room !== 'services' || /^services\/[^/]+$/.test(file))
}

/** The fault of one file importing another; undefined where there is none. */
export function importFault(from: string, to: string): string | undefined {
  const [source, target] = [roomOf(from), roomOf(to)]
  if (source === undefined) return `${from} is in no room`
  if (target === undefined) return `${from} imports ${to}, which is in no room`
  if (target.room === source.room) return undefined
  if (target.layer > source.layer && !isForTests(from)) return `${from} imports ${to}, a layer up`
  if (target.layer === source.layer && !isForTests(from)) return `${from} imports ${to}, sideways`
  const isPastTheDoor = WITH_A_DOOR.has(target.room) && !to.endsWith('/index.ts')
  if (isPastTheDoor && !isForTests(from) && !WORKSHOPS.has(source.room)) {
    return `${from} imports ${to}, past its public index.ts`
  }
  return undefined
}

/** The fault of a file importing a package; types cost nothing and bind nothing. */
export function packageFault(file: string, name: string): string | undefined {
  if (isForTests(file) || WORKSHOPS.has(roomOf(file)?.room ?? '')) return undefined
  const owned = Object.keys(OWNERS).find((one) => name === one || name.startsWith(`${one}/`))
  const isAtHome = owned === undefined || OWNERS[owned]?.some((place) => file.startsWith(place))
  return isAtHome ? undefined : `${file} imports ${name}`
}

export type Graph = ReadonlyMap<string, readonly string[]>

/** Every source file with the files that it imports. */
export function readGraph(): Graph {
  const files = ['contracts', 'projections', 'services', 'bench', 'tools', 'testing', 'clients'].flatMap(
    (folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
        join(folder, name),
      ),
  )
  const sources = files.filter(
    // The test of these rules names imports that it does not make.
    (file) => /\.(?:ts|js)$/.test(file) && !/node_modules|\/dist\/|architecture\.test\.ts$/.test(file),
  )
  return new Map(sources.map((file) => [file, edgesOf(file)]))
}

const edgesOf = (file: string): string[] =>
  importsOf(readFileSync(join(ROOT, file), 'utf8'))
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => relative(ROOT, resolve(ROOT, dirname(file), specifier)))

/** Packages that a file imports for more than their types. */
export const packagesOf = (file: string): string[] =>
  importsOf(
    readFileSync(join(ROOT, file), 'utf8').replaceAll(/^(?:im|ex)port type [^;]*? from [^\n]*\n/gm, ''),
  ).filter((specifier) => /^[@\w][\w.:@/-]*$/.test(specifier))

/** One cycle, as the nodes along it; undefined where there is none. */
export function findCycle(graph: Graph): string[] | undefined {
  const done = new Set<string>()
  const path: string[] = []
  const visit = (node: string): string[] | undefined => {
    if (done.has(node)) return undefined
    if (path.includes(node)) return [...path.slice(path.indexOf(node)), node]
    path.push(node)
    for (const next of graph.get(node) ?? []) {
      const cycle = visit(next)
      if (cycle !== undefined) return cycle
    }
    path.pop()
    done.add(node)
    return undefined
  }
  for (const node of graph.keys()) {
    const cycle = visit(node)
    if (cycle !== undefined) return cycle
  }
  return undefined
}

/**
 * The folders directly inside a room and which of them import which. Files of the room itself are left out: they put
 * the folders together, and hold what the folders share.
 */
export function innerGraph(graph: Graph, room: string): Graph {
  const folderOf = (file: string): string | undefined =>
    file.startsWith(`${room}/`) ? /^([^/]+)\//.exec(file.slice(room.length + 1))?.[1] : undefined
  const inner = new Map<string, Set<string>>()
  for (const [file, targets] of graph) {
    const from = folderOf(file)
    if (from === undefined || isForTests(file)) continue
    const found = inner.get(from) ?? new Set()
    inner.set(from, found)
    for (const to of targets.map(folderOf)) if (to !== undefined && to !== from) found.add(to)
  }
  return new Map([...inner].map(([from, to]) => [from, [...to].toSorted()]))
}

/** How many imports of what ships go from room to room. */
export function roomGraph(graph: Graph): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const rooms = new Map<string, Map<string, number>>()
  for (const [file, targets] of graph) {
    const from = roomOf(file)?.room
    if (from === undefined || isForTests(file)) continue
    const counts = rooms.get(from) ?? new Map<string, number>()
    rooms.set(from, counts)
    for (const to of targets.map((target) => roomOf(target)?.room)) {
      if (to !== undefined && to !== from) counts.set(to, (counts.get(to) ?? 0) + 1)
    }
  }
  return rooms
}
