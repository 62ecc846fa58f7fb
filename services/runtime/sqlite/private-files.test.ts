import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { appendNext } from '../../../testing/append-next.ts'
import { openEmbeddedStore } from '../../log/embedded/embedded-store.ts'
import { anEvent } from '../../log/event-store.contract.ts'
import { openRowTables } from '../../log/projector/row-tables.ts'
import { exposedIn, makePrivate, makePrivateFolder } from './private-files.ts'

let folder: string
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'private-')), 'data', 'simulated')
})

const modeOf = (path: string): number => statSync(path).mode & 0o777

test.skipIf(process.platform === 'win32')(
  'a file that this process cannot write is refused with its owner and the command that mends it',
  () => {
    makePrivateFolder(folder)
    writeFileSync(join(folder, 'events.db'), '', { mode: 0o400 })
    // The superuser may write everything: another one tries it.
    const isRoot = process.getuid?.() === 0
    if (isRoot) for (let at = folder; at !== tmpdir(); at = dirname(at)) chmodSync(at, 0o777)
    const script = `import { makePrivateFolder } from ${JSON.stringify(join(import.meta.dirname, 'private-files.ts'))}
      ${isRoot ? 'process.setgid(65534); process.setuid(65534)' : ''}
      try { makePrivateFolder(${JSON.stringify(folder)}) } catch ({ code, message, nextStep }) { console.log(code, message, nextStep) }`
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
    })
    expect(stdout).toContain(`config_invalid ${join(folder, 'events.db')} cannot be written`)
    expect(stdout).toContain(
      isRoot
        ? `it belongs to user 0, and this process runs as user 65534 Run \`sudo chown -R 65534 ${folder}\``
        : `Run \`chmod -R u+rwX ${folder}\``,
    )
  },
)

describe('files of the store', () => {
  async function useAll(): Promise<void> {
    const store = await openEmbeddedStore({ directory: folder, now: Date.now })
    const tables = openRowTables(join(folder, 'projections.db'), 'a log')
    await appendNext(store, 's', [anEvent()])
    tables.open('some', 1)
    // While they are open, what SQLite keeps beside them is there too.
    expect(exposedIn(folder)).toEqual([])
    expect(readdirSync(folder)).toEqual(expect.arrayContaining(['events.db-wal', 'projections.db-wal']))
    tables.close()
    await store.close()
  }

  test('are their owner’s only, whatever the process makes by default', async () => {
    const before = process.umask(0)
    try {
      await useAll()
    } finally {
      process.umask(before)
    }
    expect(modeOf(folder)).toBe(0o700)
    for (const name of readdirSync(folder)) expect([name, modeOf(join(folder, name))]).toEqual([name, 0o600])
  })

  test('of an earlier release are tightened when they are opened', async () => {
    await useAll()
    chmodSync(folder, 0o755)
    for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o644)
    expect(exposedIn(folder).length).toBeGreaterThan(3)
    await useAll()
    expect(exposedIn(folder)).toEqual([])
  })
})

test('what others can read is named', () => {
  makePrivateFolder(folder)
  writeFileSync(join(folder, 'note'), '', { mode: 0o600 })
  chmodSync(join(folder, 'note'), 0o640)
  expect(exposedIn(folder)).toEqual([join(folder, 'note')])
})

test('the folder above is left as it is where it was there before', () => {
  const above = join(folder, '..')
  mkdirSync(above, { recursive: true })
  chmodSync(above, 0o755)
  makePrivateFolder(folder)
  expect([modeOf(above), modeOf(folder)]).toEqual([0o755, 0o700])
})

test('a database in memory has no file', () => {
  makePrivate(':memory:')
  expect(readdirSync('.')).not.toContain(':memory:')
})
