import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { aWorld, CLIENT, codeOf, ORIGIN, type World } from '../accounts/testing/accounts.fixture.ts'
import { LOOKS_AGAIN } from '../log/append-until-known.ts'
import { logFile, openEmbeddedStore } from '../log/embedded/embedded-store.ts'
import { openStoredRows } from '../log/embedded/stored-rows.ts'
import type { EventStore } from '../log/event-store.ts'
import { openFolderPlace } from '../log-operations/backup/folder-place.ts'
import {
  keepRevocations,
  REVOCATIONS_FILE,
  rememberRevoked,
  revocationList,
} from '../log-operations/backup/keep-revocations.ts'
import { restoreBackup } from '../log-operations/backup/restore-backup.ts'
import { takeBackup } from '../log-operations/backup/take-backup.ts'
import { beginLog } from '../log-operations/backup/testing/made-log.fixture.ts'
import { sleep } from '../runtime/async/sleep.ts'
import {
  ask,
  asking,
  Browser,
  CLIENT_ID,
  exchanging,
  type OAuthService,
  startOAuthService,
} from './testing/oauth-service.fixture.ts'

const KEYS = { known: [Buffer.alloc(32, 1)], used: 0 }
const EMAIL = 'ada@example.com'
let world: World
let folder: string
const running: (() => Promise<void>)[] = []

beforeEach(() => {
  world = aWorld()
  folder = mkdtempSync(join(tmpdir(), 'revoked-'))
})
afterEach(async () => {
  await stop()
  rmSync(folder, { recursive: true, force: true })
})

async function stop(): Promise<void> {
  for (const close of running.splice(0).toReversed()) await close()
}

/** A service over the log of a folder, at an address that stays the same. */
async function start(name: string, port = 0): Promise<OAuthService> {
  const directory = join(folder, name)
  const opened = await openEmbeddedStore({ directory, now: () => world.now })
  running.push(() => opened.close())
  if ((await opened.head()) === 'start') await beginLog(opened)
  const ending = new AbortController()
  const store: EventStore = await keepRevocations({
    store: opened,
    file: join(directory, REVOCATIONS_FILE),
    policy: LOOKS_AGAIN,
    now: () => world.now,
    sleep,
    signal: ending.signal,
    report: () => undefined,
  })
  running.push(async () => ending.abort())
  const service = await startOAuthService(world, undefined, { store, port })
  running.push(() => service.stop())
  return service
}

async function backUp(): Promise<void> {
  const rows = openStoredRows(logFile(join(folder, 'data')))
  const place = openFolderPlace(join(folder, 'backup'))
  const options = { rows, place, keys: KEYS, now: () => world.now, onProgress: () => undefined }
  await takeBackup({ ...options, signal: new AbortController().signal })
  rows.close()
}

async function restore(upTo?: { readonly position: number }, list: readonly string[] = []): Promise<void> {
  await restoreBackup({
    place: openFolderPlace(join(folder, 'backup')),
    keys: KEYS,
    directory: join(folder, 'restored'),
    upTo,
    erased: new Set(),
    accept: () => undefined,
    inspect: () => undefined,
    remember: ({ revoked }) =>
      rememberRevoked(join(folder, 'restored', REVOCATIONS_FILE), [...revoked, ...list]),
    signal: new AbortController().signal,
    onProgress: () => undefined,
  })
}

const listOf = (name: string): readonly string[] =>
  revocationList(join(folder, name, REVOCATIONS_FILE)).read()

/** Somebody with a key, a program and an open sign-in code. */
async function everything(service: OAuthService) {
  const { accounts } = service
  const { accountId, key } = await world.signIn(accounts, EMAIL)
  const leaked = await accounts.issueKey(accountId, 'leaked', ORIGIN)
  const browser = new Browser(service)
  const letIn = async (): Promise<string> => {
    const sentTo = await browser.letIn(asking(service.url), EMAIL)
    const { body } = await ask(service.url, exchanging(sentTo.searchParams.get('code') ?? ''))
    return body['refresh_token'] ?? expect.fail(JSON.stringify(body))
  }
  const [ended, turned, kept] = [await letIn(), await letIn(), await letIn()]
  await accounts.requestSignIn({ email: EMAIL, client: CLIENT }, ORIGIN)
  return { accountId, key, leaked, ended, turned, kept, code: world.codeFor(EMAIL) }
}

const refreshing = (token: string) => ({
  grant_type: 'refresh_token',
  refresh_token: token,
  client_id: CLIENT_ID,
})

async function revokeAll({ accounts, url }: OAuthService, all: Awaited<ReturnType<typeof everything>>) {
  await accounts.revokeKey(all.accountId, all.leaked.keyId, ORIGIN)
  const revoked = await fetch(`${url}/oauth/revoke`, {
    method: 'POST',
    body: new URLSearchParams({ token: all.ended, client_id: CLIENT_ID }),
  })
  expect(revoked.status).toBe(200)
  await accounts.confirmSignIn({ email: EMAIL, code: all.code, label: 'used' }, ORIGIN)
  // One more turn of a program, of which the backup knows nothing.
  const turned = await ask(url, refreshing(all.turned))
  return turned.body['refresh_token'] ?? expect.fail(JSON.stringify(turned.body))
}

async function expectRevoked(
  { accounts, url }: OAuthService,
  all: Awaited<ReturnType<typeof everything>>,
): Promise<void> {
  expect(await accounts.identify(`Bearer ${all.leaked.key}`)).toEqual({ outcome: 'UNKNOWN' })
  expect(await accounts.identify(`Bearer ${all.key}`)).toMatchObject({ outcome: 'OK' })
  const ended = await ask(url, refreshing(all.ended))
  expect([ended.status, ended.body['error']]).toEqual([400, 'invalid_grant'])
  expect(await codeOf(accounts.confirmSignIn({ email: EMAIL, code: all.code, label: 'again' }, ORIGIN))).toBe(
    'sign_in_refused',
  )
  // What nobody revoked goes on.
  expect((await ask(url, refreshing(all.kept))).status).toBe(200)
}

test('restore × revocations, with the list of the later life: what was revoked stays revoked', async () => {
  const before = await start('data')
  const port = Number(new URL(before.url).port)
  const all = await everything(before)
  await backUp()
  const newest = await revokeAll(before, all)
  await stop()
  await restore(undefined, listOf('data'))

  const after = await start('restored', port)
  await expectRevoked(after, all)
  // A program whose token was turned since is asked to sign in anew, and the token before is worth nothing either.
  for (const token of [newest, all.turned]) {
    const refused = await ask(after.url, refreshing(token))
    expect([refused.status, refused.body['error']]).toEqual([400, 'invalid_grant'])
  }
  await stop()
  // The log itself holds it from then on: without the list, too.
  rmSync(join(folder, 'restored', REVOCATIONS_FILE))
  const again = await start('restored', port)
  expect(await again.accounts.identify(`Bearer ${all.leaked.key}`)).toEqual({ outcome: 'UNKNOWN' })
})

test('restore to an earlier position, without any list: what the backup holds of later revocations counts', async () => {
  const before = await start('data')
  const port = Number(new URL(before.url).port)
  const all = await everything(before)
  const store = openStoredRows(logFile(join(folder, 'data')))
  const position = store.head()
  store.close()
  await revokeAll(before, all)
  await backUp()
  await stop()
  await restore({ position })
  await expectRevoked(await start('restored', port), all)
})
