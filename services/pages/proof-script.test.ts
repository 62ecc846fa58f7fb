import { hash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aVerdict } from '../../contracts/domain/verdict.fixture.ts'
import { VerdictRecorded } from '../../contracts/events/event-catalogue.ts'
import { newEvent } from '../../contracts/events/event-definition.ts'
import { verdictStream } from '../../contracts/events/streams.ts'
import { type MadeUpLog, nextId, openMadeUpLog } from '../proof/testing/made-up-log.fixture.ts'

type CheckProof = (
  file: string,
  vkeys: readonly string[],
  shown: string,
) => Promise<{ origin: string; index: number; size: number; root: string }>
const SCRIPT: string = new URL('assets/proof.mjs', import.meta.url).href

/** The script that the page of a verdict brings, on proofs of a log: browsers and Node have the same WebCrypto. */
describe('the script of the page of a verdict', () => {
  let checkProof: CheckProof
  let log: MadeUpLog
  let vkeys: readonly string[]
  const events = Array.from({ length: 21 }, () => {
    const id = nextId()
    return newEvent(VerdictRecorded, {
      id,
      data: aVerdict({ verdictId: id }),
      meta: { correlationId: 'test', actor: 'engine' },
    })
  })

  beforeAll(async () => {
    ;({ checkProof } = (await import(SCRIPT)) as { checkProof: CheckProof })
    log = await openMadeUpLog()
    for (const event of events) await log.append(verdictStream(aVerdict({})), [event])
    await log.sign()
    vkeys = log.views.vkeys().trim().split('\n')
  })
  afterAll(() => log.remove())

  async function proofOf(index: number): Promise<{ file: string; shown: string }> {
    const { signal } = new AbortController()
    for await (const recorded of log.store.readAll({ filter: { types: ['VerdictRecorded'] } }))
      if (recorded.id === events[index]?.id) {
        const file = await log.views.proof(recorded, signal)
        const content = Buffer.from(/^extra (.*)$/m.exec(file)?.[1] ?? '', 'base64')
        return { file, shown: hash('sha256', content) }
      }
    throw new Error('the verdict is not in the log')
  }

  test('finds every verdict of a log proven', async () => {
    for (const index of events.keys()) {
      const { file, shown } = await proofOf(index)
      const { origin, size } = await checkProof(file, vkeys, shown)
      expect([origin, size >= events.length]).toEqual(['signals.example.com/log', true])
    }
  })

  test.each([
    ['another event than the one shown', (file: string) => file, '0'.repeat(64), /not the one/],
    ['another place', (file: string) => file.replace(/^index .*/m, 'index 3'), undefined, /not entry 3/],
    [
      'a place beyond the tree',
      (file: string) => file.replace(/^index .*/m, 'index 9999'),
      undefined,
      /not entry 9999/,
    ],
    ['another size', (file: string) => file.replace(/log\n(\d)/, 'log\n9$1'), undefined, /does not fit/],
    ['a part of a proof', (file: string) => file.slice(0, 60), undefined, /no proof file/],
    ['an answer that is none', () => '<html>', undefined, /no proof file/],
    ['another content', (file: string) => file.replace('extra e', 'extra f'), undefined, /./],
    [
      'hashes left out',
      (file: string) => file.replace(/(index \d+\n)[^\n]+\n/, '$1'),
      undefined,
      /not entry/,
    ],
  ])('refuses %s', async (_what, change, shown, words) => {
    const proof = await proofOf(7)
    await expect(checkProof(change(proof.file), vkeys, shown ?? proof.shown)).rejects.toThrow(words)
  })

  test('refuses a log that none of the keys is of', async () => {
    const { file, shown } = await proofOf(7)
    const other = await openMadeUpLog()
    await other.sign()
    const keys = other.views.vkeys().trim().split('\n')
    other.remove()
    await expect(checkProof(file, keys, shown)).rejects.toThrow(/has not signed it/)
  })
})
