import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { START } from '../../../contracts/position.ts'
import { openRowTables } from '../projector/row-tables.ts'
import { type ScrubReport, scrubLog } from './scrub-log.ts'

test('the read models over a log of another machine are checked, and again a day later', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'scrub-'))
  const readModels = join(folder, 'projections.db')
  const tables = openRowTables(readModels, 'log-1')
  tables.create('some', 1, 'active')
  const rows = new Map(Array.from({ length: 400 }, (_, n) => [`key-${n}`, { n, text: 'z'.repeat(99) }]))
  tables.table('some', 1).commit(rows, START, '17', { id: 'an id', position: '17' })
  tables.close()
  const ending = new AbortController()
  const reports: ScrubReport[] = []
  let now = 1
  await scrubLog({
    file: undefined,
    readModels,
    now: () => now,
    elapsed: () => now,
    async sleep(milliseconds) {
      now += Math.max(1, milliseconds)
    },
    signal: ending.signal,
    report(report) {
      if (report.endedAt === reports.at(-1)?.endedAt) return
      reports.push(report)
      const bytes = readFileSync(readModels)
      // The second byte of a page says where its free room begins.
      for (let page = 1; page * 4_096 < bytes.length; page++) bytes[page * 4_096 + 3] = 255
      if (reports.length === 1) writeFileSync(readModels, bytes)
      else ending.abort()
    },
  })
  rmSync(folder, { recursive: true })
  expect(reports.map(({ damaged }) => damaged)).toEqual([0, 0])
  expect(reports[0]).not.toHaveProperty('readModels')
  expect(reports[1]?.readModels).toEqual(expect.any(String))
  expect((reports[1]?.endedAt ?? 0) - (reports[0]?.endedAt ?? 0)).toBeGreaterThanOrEqual(86_400_000)
})
