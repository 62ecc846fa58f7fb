import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ServiceError } from '../../../contracts/errors.ts'
import { decodeEvent, type MarketKind } from '../../../contracts/event-catalogue.ts'
import { START } from '../../../contracts/position.ts'
import { type Market, marketName, seriesName } from '../../../contracts/series.ts'
import { outcomeStream, parseVerdictStream } from '../../../contracts/streams.ts'
import {
  followVerdicts,
  replayVerdicts,
  requireKnownNames,
  type VerdictIndex,
  verifyVerdict,
} from '../../analyst/index.ts'
import { findOwnerSocket } from '../../composition/adapters/owner-socket.ts'
import { openEmbeddedStore } from '../../log/embedded/embedded-store.ts'
import type { EventStore } from '../../log/event-store.ts'
import { openEventStoreDbStore } from '../../log/eventstoredb/eventstoredb-store.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import type { CommandInput } from './command.ts'
import { type SOURCE_FLAGS, sayPlace } from './common-flags.ts'
import { createServerSource } from './server-source.ts'
import type { VerdictSource } from './verdict-source.ts'

type SourceInput = Pick<CommandInput<typeof SOURCE_FLAGS>, 'flags' | 'stderr'>

/** Does some work with a source of verdicts, and closes it. Throws what the work and `openVerdictSource` throw. */
export async function withVerdictSource<Result>(
  input: SourceInput,
  work: (source: VerdictSource) => Promise<Result>,
): Promise<Result> {
  const source = await openVerdictSource(input)
  try {
    return await work(source)
  } finally {
    await source.close()
  }
}

/**
 * Finds the verdicts: at `--server`; else through the owner's socket of the service that runs on the data folder;
 * else in EventStoreDB, where it is configured; else in the embedded store, which is opened for this command.
 *
 * @throws ServiceError `config_invalid` where there is no store, `store_locked`, `store_unavailable`
 */
async function openVerdictSource({ flags, stderr }: SourceInput): Promise<VerdictSource> {
  sayPlace(flags, stderr)
  if (flags.server !== undefined) {
    return createServerSource({
      description: `the service at ${flags.server}`,
      url: flags.server,
      token: flags['operator-token'],
      stderr,
    })
  }
  const { market } = flags
  const directory = join(flags['data-dir'], market)
  const socketPath = await findOwnerSocket(directory)
  if (socketPath !== undefined) {
    const description = `the service that runs on ${directory}`
    return createServerSource({ description, url: 'http://localhost', socketPath, stderr })
  }
  const eventStoreUrl = flags['eventstore-url']
  if (eventStoreUrl !== undefined) {
    const store = openEventStoreDbStore({ connectionString: eventStoreUrl })
    return createStoreSource(store, { description: 'EventStoreDB', isShared: true, market })
  }
  const description = `the store in ${directory}`
  return createStoreSource(await openStoreIn(directory), { description, isShared: false, market })
}

async function openStoreIn(directory: string): Promise<EventStore> {
  if (!existsSync(join(directory, 'events.db'))) {
    throw new ServiceError('config_invalid', {
      message: `there is no event store in ${directory}, and no service runs on it. Name the folder (--data-dir), the market (--market) or the address of a service (--server)`,
    })
  }
  return openEmbeddedStore({ directory, now: Date.now })
}

/**
 * Everything is shown, open windows too: who can open the store owns it.
 *
 * @param isShared whether other processes may append to the store; following it fails otherwise.
 */
function createStoreSource(
  store: EventStore,
  about: { readonly description: string; readonly isShared: boolean; readonly market: MarketKind },
): VerdictSource {
  const { description, isShared, market } = about
  return {
    description,
    async *replay({ after, ...request }) {
      let isEmpty = true
      for await (const row of replayVerdicts(store, {
        ...request,
        after: after ?? START,
        withOpen: true,
      })) {
        isEmpty = false
        yield row
      }
      if (!isEmpty || after !== undefined) return
      await requireKnownNames(request.filter, {
        isRecorded: () => false,
        markets: () => marketsInLog(store, request.signal),
      })
    },
    async *follow({ filter, after, limit, signal }) {
      if (!isShared) {
        throw new ServiceError('config_invalid', {
          message: `${description} is open here alone, so nothing can come: --follow needs a service that runs. Start it, or name another (--server)`,
        })
      }
      let left = limit
      const options = { filter, ...(after && { after }), withOpen: true, sleep, signal }
      for await (const item of followVerdicts(store, options)) {
        if (item.kind === 'verdict') yield item.row
        if (item.kind === 'verdict' && --left === 0) return
      }
    },
    verify: async (verdictId, signal) =>
      verifyVerdict(
        { store, index: await findInLog(store, verdictId, signal), market, sleep, signal },
        verdictId,
      ),
    async *outcomes(series, from, signal) {
      for await (const recorded of store.read(outcomeStream(series), { direction: 'backwards', signal })) {
        const event = decodeEvent(recorded)
        if (event.type !== 'OutcomeLabelled') continue
        if (event.data.barClose < from) return
        yield event.data
      }
    },
    bars() {
      throw new ServiceError('config_invalid', {
        message: `${description} holds no bars: they are served by a service that runs. Start it, or name another (--server)`,
      })
    },
    close: () => store.close(),
  }
}

/** Markets with verdicts; from the whole log where the store has no list of its streams. */
async function marketsInLog(store: EventStore, signal: AbortSignal): Promise<Market[]> {
  const names = new Set(store.streams?.('verdict-')?.names)
  const filter = { types: ['VerdictRecorded'] }
  if (names.size === 0)
    for await (const { stream } of store.readAll({ upTo: await store.head(), filter, signal }))
      names.add(stream)
  const series = [...names].flatMap((name) => parseVerdictStream(name) ?? [])
  return [...new Map(series.map((one) => [marketName(one), one])).values()]
}

/** The place of one verdict, looked for in the whole log: the store alone has no index of ids. */
async function findInLog(store: EventStore, verdictId: string, signal: AbortSignal): Promise<VerdictIndex> {
  const head = await store.head()
  const filter = { types: ['VerdictRecorded'] }
  for await (const { id, stream, revision } of store.readAll({ upTo: head, filter, signal })) {
    const series = parseVerdictStream(stream)
    if (id !== verdictId || series === undefined) continue
    return { get: () => ({ series: seriesName(series), revision }), position: () => head }
  }
  return { get: () => undefined, position: () => head }
}
