import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import type { NewEvent } from '../../../contracts/event.ts'
import type { EventStore } from '../event-store.ts'
import { type ArchiveOptions, type ArchiveResult, archiveLog } from './archive-log.ts'
import { archiveFolder } from './archived-contents.ts'

const meta = { correlationId: 'a test', actor: 'test' }

export const madeUp = (data: NewEvent['data'], type = 'VerdictRecorded'): NewEvent => ({
  id: randomUUID(),
  type,
  schema: 1,
  data,
  meta,
})

/**
 * Verdicts and outcomes of some series, with other streams in between: a debit now and then, and where `keysEvery` says so
 * the key of a subject.
 */
export async function appendSeries(
  store: EventStore,
  options: { readonly count: number; readonly series?: number; readonly keysEvery?: number },
): Promise<void> {
  const { count, series = 5, keysEvery } = options
  // They are committed in the order in which they are asked for, many at once.
  const appends: Promise<unknown>[] = []
  const append = (stream: string, event: NewEvent): unknown =>
    appends.push(store.append(stream, [event], { expected: 'any' }))
  for (let made = 0; made < count; made++) {
    const text = `a\ttab, a\nline and ünïcödé ${made} ${'x'.repeat((made * 37) % 900)}`
    const name = `SIM.C${made % series}.1m`
    append(`verdict-${name}`, madeUp({ text, made }))
    if (made % 2 === 0) append(`outcome-${name}`, madeUp({ made }, 'OutcomeLabelled'))
    if (made % 10 === 0) append('quota-x.2026-11', madeUp({ made }, 'Debited'))
    if (keysEvery !== undefined && made % keysEvery === 3)
      append(`subject-${made}.0`, madeUp({ key: keyOf(made) }, 'SubjectKeyCreated'))
    if (made % 100 === 99) await Promise.all(appends.splice(0))
  }
  await Promise.all(appends)
}

/** A key that cannot be anywhere else by chance. */
export const keyOf = (n: number): string => `wrapped-key-${n}-`.repeat(4)

const soon = (): Date => new Date(Date.now() + 60_000)

/** Archives all that there is, in small blocks and files. */
export function archive(file: string, more: Partial<ArchiveOptions> = {}): Promise<ArchiveResult> {
  mkdirSync(archiveFolder(file), { recursive: true })
  return archiveLog({
    file,
    before: soon(),
    signal: new AbortController().signal,
    sleep: async () => undefined,
    elapsed: () => performance.now(),
    onProgress: () => undefined,
    blockBytes: 4_000,
    fileBytes: 60_000,
    ...more,
  })
}
