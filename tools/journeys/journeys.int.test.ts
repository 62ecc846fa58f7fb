import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { missing } from './journeys.ts'

/** A few files run at their own times, such as those that renew a lease. */
const BY_CHANCE = 6
const PAGE = readFileSync(join(import.meta.dirname, '../../ARCHITECTURE.md'), 'utf8')

describe.skipIf(missing !== undefined)(`journeys${missing ?? ''}`, () => {
  test('run no more files than ARCHITECTURE.md says: a longer one is a decision', {
    timeout: 240_000,
  }, async () => {
    const command = [join(import.meta.dirname, 'run.ts'), '--files']
    const { stdout } = await promisify(execFile)(process.execPath, command)
    const counted = Array.from(stdout.matchAll(/^ *(\d+) files {2}(.*)$/gm), ([, files, name]) => ({
      name,
      files: Number(files),
    }))
    const said = Array.from(PAGE.matchAll(/^### (.*)\n\nIt runs (\d+) files\.$/gm), ([, name, files]) => ({
      name,
      files: Number(files),
    }))
    expect(said).toHaveLength(5)
    expect(counted.map(({ name }) => name)).toEqual(said.map(({ name }) => name))
    for (const [place, { name, files }] of counted.entries()) {
      expect(files, name).toBeGreaterThan(15)
      expect(files, name).toBeLessThanOrEqual((said[place]?.files ?? 0) + BY_CHANCE)
    }
    // One of each: a thread that replays, the thread that writes, and work that follows the log.
    for (const file of [
      'analyst/replay-thread',
      'log/embedded/writer-thread',
      'webhooks/sending/guarded-sender',
    ])
      expect(stdout).toContain(` services/${file}.ts `)
  })
})
