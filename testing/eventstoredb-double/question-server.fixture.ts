import { randomUUID } from 'node:crypto'
import {
  type AppendResult,
  EventStoreDBClient,
  type JSONEventData,
  jsonEvent,
  type ResolvedEvent,
  streamNameFilter,
} from '@eventstore/db-client'

type LogPosition = { readonly commit: bigint; readonly prepare: bigint }
type Expected = 'any' | 'no_stream' | 'stream_exists' | bigint

/** The part of a subscription's answers that is the same at each run: marks and own events, in order. */
interface Followed {
  readonly said: string[]
  end(): Promise<void>
}

/** Long enough for a server on this machine to send what it has. */
const QUIET_MS = 400

/**
 * Asks a server everything that the adapter relies on, by the client itself, and writes its answers down, a line each:
 * streams by their short names, positions by the number of the append that they are of. Two servers that answer with the
 * same lines are the same to the adapter.
 */
export async function questionServer(connectionString: string): Promise<string[]> {
  const client = EventStoreDBClient.connectionString(connectionString)
  const run = randomUUID().slice(0, 8)
  const ids = Array.from({ length: 100 }, () => randomUUID())
  const places: string[] = []
  const lines: string[] = []
  const full = (stream: string): string => `${stream}.${run}`
  const short = (text: string): string => text.replaceAll(`.${run}`, '')
  const say = (what: string, answer: string): void => void lines.push(`${what}: ${short(answer)}`)

  const event = (n: number, bytes = 10): JSONEventData =>
    jsonEvent({ id: ids[n] as string, type: 'Asked', data: { text: 'x'.repeat(bytes) } })

  function nameOf(position: LogPosition | undefined): string {
    if (position === undefined) return 'nowhere'
    const text = `${position.commit}/${position.prepare}`
    if (!places.includes(text)) places.push(text)
    return `place ${places.indexOf(text)}`
  }
  function newest(): LogPosition {
    const [commit = '0', prepare = '0'] = (places.at(-1) ?? '').split('/')
    return { commit: BigInt(commit), prepare: BigInt(prepare) }
  }
  const shifted = (by: bigint): LogPosition => ({
    commit: newest().commit + by,
    prepare: newest().prepare + by,
  })
  const refusal = (error: unknown): string => {
    const { type, code, actualVersion } = error as {
      type?: string
      code?: number
      actualVersion?: bigint | string
    }
    const message = error instanceof Error ? error.message.split('\n')[0] : String(error)
    return `${type} ${code ?? ''} ${actualVersion === undefined ? message : `at ${String(actualVersion)}`}`
  }
  const label = ({ event: found }: ResolvedEvent): string | undefined =>
    found?.streamId.endsWith(run) === true
      ? `${found.streamId}@${found.revision}${found.type.startsWith('$') ? found.type : ''}`
      : undefined

  async function append(what: string, stream: string, events: JSONEventData[], expectedRevision: Expected) {
    const told = await client
      .appendToStream(full(stream), events, { expectedRevision })
      .then(
        ({ nextExpectedRevision, position }: AppendResult) =>
          `at ${nextExpectedRevision}, ${nameOf(position)}`,
        refusal,
      )
    say(`append ${what}`, told)
  }
  async function read(what: string, open: () => AsyncIterable<ResolvedEvent>, most = Infinity) {
    const found: string[] = []
    try {
      for await (const resolved of open()) {
        const text = label(resolved)
        if (text !== undefined) found.push(text)
        if (found.length === most) break
      }
      say(`read ${what}`, found.join(' ') || 'nothing')
    } catch (error) {
      say(`read ${what}`, refusal(error))
    }
  }
  const other = (what: string, work: Promise<unknown>): Promise<void> =>
    work.then(
      () => say(what, 'done'),
      (error: unknown) => say(what, refusal(error)),
    )

  function follow(subscription: ReturnType<typeof client.subscribeToAll>): Followed {
    const said: string[] = []
    const hear = (text: string | undefined) => void (text !== undefined && said.push(text))
    subscription.on('caughtUp', () => hear('caught-up'))
    subscription.on('data', (resolved: ResolvedEvent) => hear(label(resolved)))
    subscription.on('error', (error: Error) => hear(refusal(error)))
    return { said, end: () => subscription.unsubscribe().catch(() => undefined) }
  }
  const quiet = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, QUIET_MS))
  let next = 40
  async function following(what: string, open: () => unknown, stream = 'f'): Promise<void> {
    const followed = follow(open() as ReturnType<typeof client.subscribeToAll>)
    await quiet()
    followed.said.push('|')
    for (let n = 0; n < 2; n++) {
      const { position } = await client.appendToStream(full(stream), [event(next)])
      nameOf(position)
      next += 1
    }
    await quiet()
    say(`follow ${what}`, followed.said.join(' '))
    await followed.end()
  }

  try {
    await append('a new stream', 's', [event(0)], 'no_stream')
    await append('the same id to no stream', 's', [event(0)], 'no_stream')
    await append('another id to no stream', 's', [event(1)], 'no_stream')
    await append('two more', 's', [event(2), event(3)], 0n)
    await append('the same two again', 's', [event(2), event(3)], 0n)
    await append('the first of two known', 's', [event(2), event(4)], 0n)
    await append('the second of two known', 's', [event(5), event(2)], 0n)
    await append('one of the two alone', 's', [event(2)], 0n)
    await append('the two and one more', 's', [event(2), event(3), event(6)], 0n)
    await append('the same two to any', 's', [event(2), event(3)], 'any')
    await append('a known and a new one to any', 's', [event(3), event(7)], 'any')
    await append('a new and a known one to any', 's', [event(8), event(3)], 'any')
    await append('the same two to an existing one', 's', [event(2), event(3)], 'stream_exists')
    await append('a known id in another stream', 't', [event(2)], 'no_stream')
    await append('behind the end', 's', [event(9)], 99n)
    await append('to one that must exist', 'v', [event(10)], 'stream_exists')
    await append('behind the end of a missing one', 'v', [event(10)], 3n)
    await append('one id twice', 'w', [event(11), event(11)], 'no_stream')
    await append('1,100,000 bytes', 'big', [event(12, 1_100_000)], 'no_stream')
    await append('600,000 bytes twice', 'big', [event(13, 600_000), event(14, 600_000)], 'no_stream')
    await append('1,040,000 bytes', 'big', [event(15, 1_040_000)], 'no_stream')
    await append('5,000,000 bytes', 'big', [event(16, 5_000_000)], 'any')
    await append('the last one', 'last', [event(17)], 'no_stream')

    await read('a stream', () => client.readStream(full('s')))
    await read('it backwards', () =>
      client.readStream(full('s'), { direction: 'backwards', fromRevision: 'end' }),
    )
    await read('a missing stream', () => client.readStream(full('nope')))
    await read('from behind its end', () => client.readStream(full('s'), { fromRevision: 50n }))
    await read('from behind its end, backwards', () =>
      client.readStream(full('s'), { direction: 'backwards', fromRevision: 50n }),
    )
    await read('nothing of it', () => client.readStream(full('s'), { maxCount: 0 }))
    await read('the log from its newest place', () => client.readAll({ fromPosition: newest() }))
    await read('the log from that commit, prepare 0', () =>
      client.readAll({ fromPosition: { commit: newest().commit, prepare: 0n } }),
    )
    await read('the log from inside a record', () => client.readAll({ fromPosition: shifted(-3n) }))
    await read('the log from beyond its end', () => client.readAll({ fromPosition: shifted(10_000_000n) }))
    await read('the log from beyond its end, backwards', () =>
      client.readAll({ fromPosition: shifted(10_000_000n), direction: 'backwards', maxCount: 2 }),
    )
    await read('the log from its end', () => client.readAll({ fromPosition: 'end' }))

    await append('to be deleted', 'd', [event(20), event(21)], 'no_stream')
    await other('delete', client.deleteStream(full('d')))
    await read('the deleted', () => client.readStream(full('d')))
    await append('what it held to the deleted', 'd', [event(20), event(21)], 'no_stream')
    await append('another to the deleted', 'd', [event(22)], 'no_stream')
    await read('the deleted again', () => client.readStream(full('d')))
    await other('delete a missing one', client.deleteStream(full('never')))
    await append('to be tombstoned', 'e', [event(24), event(25)], 'no_stream')
    await other('tombstone', client.tombstoneStream(full('e')))
    await read('the tombstoned', () => client.readStream(full('e')))
    await append('what it held to the tombstoned', 'e', [event(24), event(25)], 'no_stream')
    await append('another to the tombstoned', 'e', [event(26)], 'any')
    await other('tombstone again', client.tombstoneStream(full('e')))
    await other('tombstone a missing one', client.tombstoneStream(full('none')))
    await append('to the missing one', 'none', [event(27)], 'no_stream')
    await read('the log, of these', async function* () {
      for await (const resolved of client.readAll())
        if (/^(\$\$)?(d|e|none)\./.test(resolved.event?.streamId ?? '')) yield resolved
    })

    await append('for those who follow', 'f', [event(30)], 'no_stream')
    await following('from a place', () => client.subscribeToAll({ fromPosition: newest() }))
    await following('from the end', () => client.subscribeToAll({ fromPosition: 'end' }))
    await following('from a commit, prepare 0', () =>
      client.subscribeToAll({ fromPosition: { commit: newest().commit, prepare: 0n } }),
    )
    await following('from inside a record', () => client.subscribeToAll({ fromPosition: shifted(-3n) }))
    await following('from beyond the end', () =>
      client.subscribeToAll({ fromPosition: shifted(10_000_000n) }),
    )
    await following('a stream', () => client.subscribeToStream(full('s')), 's')
    await following('a tombstoned stream', () => client.subscribeToStream(full('e')))
    await following('what is not a server’s own', () =>
      client.subscribeToAll({ fromPosition: newest(), filter: streamNameFilter({ regex: '^[^$]' }) }),
    )
    say('follow a burst that is not taken', await burst())
    return lines
  } finally {
    await client.dispose()
  }

  /** Whether a subscription that takes nothing for a while outlives an append of many events. */
  async function burst(): Promise<string> {
    const subscription = client.subscribeToAll({ fromPosition: 'end' })
    const ended = new Promise<string>((resolve) => {
      subscription.on('error', (error: Error) => resolve(refusal(error)))
    })
    await quiet()
    subscription.pause()
    const many = Array.from({ length: 400 }, () =>
      jsonEvent({ type: 'Asked', data: { text: 'x'.repeat(500) } }),
    )
    await client.appendToStream(full('burst'), many)
    await quiet()
    subscription.on('data', () => undefined)
    subscription.resume()
    const told = await Promise.race([
      ended,
      quiet()
        .then(quiet)
        .then(() => 'goes on'),
    ])
    await subscription.unsubscribe().catch(() => undefined)
    return told
  }
}
