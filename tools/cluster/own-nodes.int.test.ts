import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startNodes } from './own-nodes.ts'
import type { StoreUnderTest } from './store-under-test.ts'

interface Said {
  readonly reached: readonly boolean[]
}
const COMMAND = `${process.execPath} ${join(import.meta.dirname, 'fake-node.fixture.ts')} {port} {others} {folder}`
/** Long enough for every node to be asked meanwhile. */
const WHILE_MS = 10_000

/** The answer of every node, by the way that callers take. */
const ask = ({ url }: StoreUnderTest): Promise<Said[]> =>
  Promise.all(
    (url.match(/127\.0\.0\.1:\d+/g) ?? []).map((address) =>
      fetch(`http://${address}/others`).then((answer) => answer.json() as Promise<Said>),
    ),
  )
const reachedBy = (said: readonly Said[]) => said.map(({ reached }) => reached)
const WHOLE = [
  [true, true],
  [true, true],
  [true, true],
]

test('nodes of a command are started, parted, killed and started again', async () => {
  const said: string[] = []
  const store = await startNodes(COMMAND, (line) => said.push(line))
  try {
    expect(reachedBy(await ask(store))).toEqual(WHOLE)
    const parted = store.faults.partLeader?.(WHILE_MS)
    await expect
      .poll(async () => reachedBy(await ask(store)), { timeout: WHILE_MS })
      .toEqual([
        // The leader reaches nobody, the others reach each other, and callers reach them all.
        [false, false],
        [false, true],
        [false, true],
      ])
    await parted
    await expect.poll(async () => reachedBy(await ask(store)), { timeout: 20_000 }).toEqual(WHOLE)

    await store.loseLeader(500)
    expect(said).toEqual([expect.stringContaining('are up'), '    node1 ended with SIGKILL'])
    expect(reachedBy(await ask(store))).toEqual(WHOLE)
  } finally {
    store.stop()
  }
}, 120_000)

test('a command that cannot be started is told of', async () => {
  const said: string[] = []
  const broken = startNodes('/nowhere/a-node {port}', (line) => said.push(line), 1_500)
  await expect(broken).rejects.toThrow(/nodes of the store are ,.*: see /)
  expect(said.join('\n')).toContain('node1 does not start: spawn /nowhere/a-node ENOENT')
})
