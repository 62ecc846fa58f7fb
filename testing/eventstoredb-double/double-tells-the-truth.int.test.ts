import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { isInvalidPosition } from '../../services/log/eventstoredb/client-errors.ts'
import { questionServer } from './question-server.fixture.ts'
import { startWireDouble } from './wire-double.ts'

/** Answers of 23.10.6 and 24.10.14. The newer ones are written anew with RECORD_ANSWERS=1 and a server's EVENTSTORE_URL. */
const [OLD, NEW] = ['23.10', '24.10'].map(
  (line) => new URL(`recorded-answers-${line}.txt`, import.meta.url),
) as [URL, URL]
const recorded = (file: URL): string[] => readFileSync(file, 'utf8').trimEnd().split('\n')
const url = process.env['EVENTSTORE_URL']

describe('what the adapter asks of a server', () => {
  test.skipIf(url === undefined)(
    'a real one answers as it was recorded',
    async () => {
      const answers = await questionServer(url ?? '')
      if (process.env['RECORD_ANSWERS'] === '1') writeFileSync(NEW, `${answers.join('\n')}\n`)
      expect([recorded(OLD), recorded(NEW)]).toContainEqual(answers)
    },
    60_000,
  )

  test('what no line of servers reads or follows from is known for no place, by the words of each', () => {
    for (const file of [OLD, NEW]) {
      const refusals = recorded(file).filter((answer) => answer.includes('from inside a record'))
      expect(refusals).toHaveLength(2)
      for (const refusal of refusals) expect(isInvalidPosition(new Error(refusal))).toBe(true)
    }
  })

  test('the double answers in the words of the older line', async () => {
    const double = await startWireDouble()
    try {
      expect(await questionServer(double.connectionString)).toEqual(recorded(OLD))
    } finally {
      double.stop()
    }
  }, 60_000)
})
