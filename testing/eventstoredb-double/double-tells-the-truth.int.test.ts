import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { questionServer } from './question-server.fixture.ts'
import { startWireDouble } from './wire-double.ts'

/** Answers of EventStoreDB 23.10.6. They are recorded anew with RECORD_ANSWERS=1 and a server's EVENTSTORE_URL. */
const FILE = new URL('recorded-answers.txt', import.meta.url)
const recorded = (): string[] => readFileSync(FILE, 'utf8').trimEnd().split('\n')
const url = process.env['EVENTSTORE_URL']

describe('what the adapter asks of a server', () => {
  test.skipIf(url === undefined)(
    'a real one answers as it was recorded',
    async () => {
      const answers = await questionServer(url ?? '')
      if (process.env['RECORD_ANSWERS'] === '1') writeFileSync(FILE, `${answers.join('\n')}\n`)
      expect(answers).toEqual(recorded())
    },
    60_000,
  )

  test('the double answers in the same words', async () => {
    const double = await startWireDouble()
    try {
      expect(await questionServer(double.connectionString)).toEqual(recorded())
    } finally {
      double.stop()
    }
  }, 60_000)
})
