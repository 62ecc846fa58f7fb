import { aVerdict } from '../contracts/domain/verdict.fixture.ts'
import { VerdictRecorded } from '../contracts/events/event-catalogue.ts'
import type { RecordedEvent } from '../contracts/infra/event.ts'
import { rowsInMemory } from '../projections/index.ts'
import { contentText, encodeEntry, entryOf } from '../services/proof/tree/entry.ts'
import { hashesOver, leafHash, rootOf, rootOfInclusion } from '../services/proof/tree/merkle.ts'
import { createTreeReader, type TreeRow, transparencyTree } from '../services/proof/tree/tree-reader.ts'
import { measure, report, timed } from './support/measure.ts'

/**
 * Entries per second: hashed into a tree, folded from events, and proofs per second.
 *
 * BENCH_ENTRIES=1000000 node bench/proof.bench.ts
 */
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)
const ENTRIES = Number(process.env.BENCH_ENTRIES ?? 100_000)
const PROOFS = 500
const BASE = 'contents hashed into entries'

const events = Array.from({ length: ENTRIES }, (_, n): RecordedEvent => {
  const id = `0190a000-0000-8000-8000-${String(n).padStart(12, '0')}`
  const data = aVerdict({ verdictId: id, barClose: n * 60_000 })
  const place = {
    stream: 'verdict-SIM.BTC.1h',
    revision: n,
    position: String(n + 1),
    at: '2025-01-01T00:00:00.000Z',
  }
  return {
    id,
    type: VerdictRecorded.type,
    schema: VerdictRecorded.schema,
    data,
    ...place,
    meta: { correlationId: 'bench', actor: 'bench' },
  }
})
const entries = events.map((event) => encodeEntry(entryOf(event)))

const all = (name: string, work: () => void) => ({
  name,
  round: async () => ({ units: ENTRIES, milliseconds: await timed(work) }),
})

const rows = rowsInMemory<TreeRow>()
for (const event of events) transparencyTree.fold(rows, event)
const tree = createTreeReader((key) => rows.get(key))
const root = tree.root(ENTRIES)

const measured = await measure(
  [
    all('leaves hashed into a root', () => {
      if (!rootOf(hashesOver(entries.map(leafHash)), ENTRIES).equals(root)) throw new Error('another root')
    }),
    all(BASE, () => {
      for (const event of events) entryOf(event, contentText(event))
    }),
    all('transparency_tree folded', () => {
      const fresh = rowsInMemory<TreeRow>()
      for (const event of events) transparencyTree.fold(fresh, event)
    }),
    {
      name: 'inclusion proofs made and checked',
      round: async () => ({
        units: PROOFS,
        milliseconds: await timed(() => {
          for (let n = 0; n < PROOFS; n++) {
            const index = (n * 7_919) % ENTRIES
            const leaf = leafHash(entries[index] ?? Buffer.alloc(0))
            const found = rootOfInclusion({ index, size: ENTRIES }, leaf, tree.inclusion(index, ENTRIES))
            if (found?.equals(root) !== true) throw new Error('another root')
          }
        }),
      }),
    },
  ],
  ROUNDS,
)
report(`${ENTRIES.toLocaleString('en')} entries`, 'entries', measured, BASE)
