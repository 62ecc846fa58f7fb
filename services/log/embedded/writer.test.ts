import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { codeOf } from '../../../contracts/errors/code-of.fixture.ts'
import { startWriter } from './writer.ts'

test('a thread that ended is replaced by one for all who ask next, and closing waits for it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'writer-'))
  const writer = await startWriter({ file: join(folder, 'events.db') })
  const at = '2025-01-01T00:00:00.000Z'
  // A request that no code sends ends the thread.
  expect(await codeOf(writer.commit(undefined as never, at))).toBe('append_unknown')
  const asked = [writer.commit([], at), writer.erase('subject-1.0'), writer.commit([], at)]
  const closing = writer.close()
  expect(await Promise.all(asked)).toEqual([[], undefined, []])
  await closing
  rmSync(folder, { recursive: true })
})
