import { randomUUID } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { firstStreamOf, subjectStream } from '../../contracts/events/streams.ts'
import { openErasureList } from './erasure-list.ts'
import { aWorld, codeOf, ORIGIN, type World } from './testing/accounts.fixture.ts'

const EMAIL = 'ada@example.com'
const [first, second, third] = [1, 2, 3].map((byte) => Buffer.alloc(32, byte)) as [Buffer, Buffer, Buffer]
const beginning = { known: [first], used: 0 }
const replaced = { known: [first, second], used: 1 }

let world: World
beforeEach(() => {
  world = aWorld()
})
afterEach(() => world.closeAll())

/** Which streams hold a key that was not erased. */
async function streamsWithKeys(): Promise<string[]> {
  const names = new Set(
    world.log.rows.map(({ stream }) => stream).filter((name) => name.startsWith('subject-')),
  )
  const found: string[] = []
  for (const name of names) for await (const { stream } of world.store().read(name)) found.push(stream)
  return found
}

describe('a sealing key that was replaced', () => {
  test('key rotation × restart: what was sealed before opens after a restart, and its old copy is gone', async () => {
    const before = await world.start({ wrapping: beginning })
    const { accountId } = await world.signIn(before.accounts, EMAIL)
    await before.close()
    expect(await streamsWithKeys()).toEqual([subjectStream(accountId, 0)])
    const after = await world.start({ wrapping: replaced })
    expect(await after.accounts.show(accountId)).toMatchObject({ email: EMAIL })
    await expect.poll(streamsWithKeys).toHaveLength(1)
    await expect.poll(async () => (await streamsWithKeys())[0]).not.toBe(subjectStream(accountId, 0))
    await after.close()
    // A second replacement, which is gone on with from the copy of the first.
    const last = await world.start({ wrapping: { known: [first, second, third], used: 2 } })
    await expect.poll(async () => (await streamsWithKeys()).length).toBe(1)
    expect(await last.accounts.show(accountId)).toMatchObject({ email: EMAIL })
    expect(firstStreamOf(String((await streamsWithKeys())[0]))).toBe(subjectStream(accountId, 0))
  })

  test('that never was replaced has no account read', async () => {
    const before = await world.start({ wrapping: beginning })
    const { accountId } = await world.signIn(before.accounts, EMAIL)
    const read: string[] = []
    const store = world.store()
    const counting = {
      ...store,
      read: (stream: string, options?: object) => (read.push(stream), store.read(stream, options)),
    }
    await world.start({ wrapping: beginning, store: counting })
    await world.start({ wrapping: replaced })
    await expect.poll(async () => (await streamsWithKeys())[0]).not.toBe(subjectStream(accountId, 0))
    expect(read).toEqual([])
  })

  test('overlaps: a process that knows the new key and does not use it opens what is sealed under it', async () => {
    const knowing = await world.start({ wrapping: { known: [first, second], used: 0 } })
    const using = await world.start({ wrapping: replaced })
    const one = await world.signIn(using.accounts, EMAIL)
    const two = await world.signIn(knowing.accounts, 'bob@example.com')
    expect(await knowing.accounts.show(one.accountId)).toMatchObject({ email: EMAIL })
    expect(await using.accounts.show(two.accountId)).toMatchObject({ email: 'bob@example.com' })
  })

  test('leaves nothing of an account that is erased, whatever key it was under', async () => {
    const before = await world.start({ wrapping: beginning })
    const { accountId } = await world.signIn(before.accounts, EMAIL)
    const after = await world.start({ wrapping: replaced })
    await expect.poll(async () => (await streamsWithKeys())[0]).not.toBe(subjectStream(accountId, 0))
    await after.accounts.erase(accountId, ORIGIN)
    expect(await streamsWithKeys()).toEqual([])
    expect(await codeOf(after.accounts.show(accountId))).toBe('account_unknown')
  })

  test('key rotation × erase: an erasure between the new copy and the old one misses none', async () => {
    const before = await world.start({ wrapping: beginning })
    const { accountId } = await world.signIn(before.accounts, EMAIL)
    const inner = world.store()
    let isErased = false
    const after = await world.start({
      wrapping: replaced,
      store: {
        ...inner,
        async append(stream, events, options) {
          // Just before the new copy is written, the account is erased by a process that sees no new copy yet.
          if (stream.startsWith('subject-') && !isErased) {
            isErased = true
            await before.accounts.erase(accountId, ORIGIN)
          }
          return inner.append(stream, events, options)
        },
      },
    })
    await expect.poll(() => isErased).toBe(true)
    await expect.poll(streamsWithKeys).toEqual([])
    expect(await codeOf(after.accounts.show(accountId))).toBe('account_unknown')
  })
})

describe('a list of erased accounts, kept outside of the log', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'erasures-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))
  const listOf = (...streams: string[]) => {
    const list = openErasureList(join(folder, 'erased-subjects'))
    if (streams.length > 0) list.add(streams)
    return list
  }

  test('has each account before its key is erased', async () => {
    const erasures = listOf()
    const inner = world.store()
    const { accounts } = await world.start({
      erasures,
      store: {
        ...inner,
        erase(stream) {
          expect(erasures.read()).toContain(stream)
          return inner.erase(stream)
        },
      },
    })
    const { accountId } = await world.signIn(accounts, EMAIL)
    await accounts.erase(accountId, ORIGIN)
    expect(erasures.read()).toEqual([subjectStream(accountId, 0)])
    expect(statSync(join(folder, 'erased-subjects')).mode & 0o777).toBe(0o600)
  })

  test('is no file while nothing was erased', () => {
    listOf().add([])
    expect(existsSync(join(folder, 'erased-subjects'))).toBe(false)
  })

  test('erases again what a log that was set back takes for open', async () => {
    const { accounts } = await world.start()
    const { accountId, key } = await world.signIn(accounts, EMAIL)
    const restored = await world.start({ erasures: listOf(subjectStream(accountId, 0)) })
    await expect.poll(streamsWithKeys).toEqual([])
    await expect.poll(async () => (await restored.accounts.identify(`Bearer ${key}`)).outcome).toBe('UNKNOWN')
    expect(await codeOf(restored.accounts.show(accountId))).toBe('account_unknown')
    // Its owner may come back, to an account without what was.
    expect(await world.signIn(restored.accounts, EMAIL)).toMatchObject({ accountId })
  })

  test('leaves other accounts alone', async () => {
    const { accounts } = await world.start()
    const { accountId } = await world.signIn(accounts, EMAIL)
    const other = await world.start({ erasures: listOf(subjectStream(randomUUID(), 0)) })
    await expect.poll(() => other.accounts.show(accountId)).toMatchObject({ email: EMAIL })
    expect(await streamsWithKeys()).toHaveLength(1)
  })

  test('that was spoilt is refused, and no name is taken twice', () => {
    const [one, two] = [randomUUID(), randomUUID()].map((id) => subjectStream(id, 0)) as [string, string]
    expect(listOf(one).read()).toEqual([one])
    listOf(two, one)
    expect(listOf().read()).toEqual([one, two])
    writeFileSync(join(folder, 'erased-subjects'), `${one}\naccount-7\n`)
    expect(() => listOf().read()).toThrow('"account-7" names no stream of a key')
  })
})
