import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { newestBackup, noteBackup } from './read-backup.ts'

test('the note of another log counts as none', () => {
  const directory = mkdtempSync(join(tmpdir(), 'newest-backup-'))
  try {
    expect(newestBackup(directory, 'one')).toBeUndefined()
    const note = { logId: 'one', takenAt: '2026-01-01T00:00:00.000Z', position: 7 }
    noteBackup(directory, note)
    expect(newestBackup(directory, 'one')).toEqual(note)
    expect([newestBackup(directory, 'other'), newestBackup(directory, undefined)]).toEqual([
      undefined,
      undefined,
    ])
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
})
