import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { logFile, openEmbeddedStore } from '../../log/embedded/embedded-store.ts'
import { openStoredRows } from '../../log/embedded/stored-rows.ts'
import { openPlace } from './open-place.ts'
import type { BackupPlace } from './place.ts'
import { restoreBackup } from './restore-backup.ts'
import { signedHeaders } from './s3-signature.ts'
import { sha256Of } from './segment.ts'
import { takeBackup } from './take-backup.ts'
import { appendKey, appendSome, beginLog, readWhole } from './testing/made-log.fixture.ts'
import { startS3Double } from './testing/s3-double.fixture.ts'

const KEYS = { known: [Buffer.alloc(32, 1)], used: 0 }
const credentials = { keyId: 'AKIAIOSFODNN7EXAMPLE', secret: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' }

// The examples of "Signature Calculations for the Authorization Header" in Amazon's reference of S3.
describe('a signature is the one that Amazon publishes for', () => {
  const at = Date.UTC(2013, 4, 24)
  const host = 'https://examplebucket.s3.amazonaws.com'
  const nothing = sha256Of('')
  test.each([
    [
      'a read of a part',
      { method: 'GET', url: '/test.txt', headers: { range: 'bytes=0-9' }, payloadSha256: nothing },
      'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    ],
    [
      'a name with a sign that is encoded',
      {
        method: 'PUT',
        url: '/test%24file.text',
        headers: { date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' },
        payloadSha256: sha256Of('Welcome to Amazon S3.'),
      },
      '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
    ],
    [
      'a list',
      { method: 'GET', url: '/?max-keys=2&prefix=J', headers: {}, payloadSha256: nothing },
      '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
    ],
  ])('%s', (_what, request, signature) => {
    const signed = signedHeaders({ ...request, url: new URL(host + request.url) }, credentials, {
      region: 'us-east-1',
      at,
    })
    expect(signed.authorization).toMatch(new RegExp(`Signature=${signature}$`))
  })
})

describe('a backup in a bucket', () => {
  let directory: string
  let now = Date.parse('2026-11-22T12:00:00Z')
  let double: Awaited<ReturnType<typeof startS3Double>>

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 's3-'))
    now = Date.parse('2026-11-22T12:00:00Z')
    double = await startS3Double({
      bucket: 'back-ups',
      region: 'eu-central-1',
      credentials,
      now: () => now,
    })
  })
  afterEach(async () => {
    await double.close()
    rmSync(directory, { recursive: true, force: true })
  })

  const place = (
    address = 's3://back-ups/signal/eins zwei+',
    { secret = credentials.secret, region = 'eu-central-1', isAlone = false } = {},
  ): BackupPlace =>
    openPlace(address, {
      environment: {
        AWS_ENDPOINT_URL_S3: double.endpoint,
        AWS_REGION: region,
        AWS_ACCESS_KEY_ID: credentials.keyId,
        AWS_SECRET_ACCESS_KEY: secret,
      },
      isAlone,
      holder: randomUUID(),
      now: () => now,
      sleep: async () => undefined,
    })
  const signal = new AbortController().signal

  async function backUp(to = place()) {
    const rows = openStoredRows(logFile(join(directory, 'log')))
    try {
      return await takeBackup({
        rows,
        place: to,
        keys: KEYS,
        now: () => now,
        signal,
        onProgress: () => undefined,
        segmentBytes: 10_000,
      })
    } finally {
      rows.close()
    }
  }

  async function makeLog(): Promise<void> {
    const store = await openEmbeddedStore({ directory: join(directory, 'log'), now: () => now })
    await beginLog(store)
    await appendSome(store, 150)
    await appendKey(store)
    await store.close()
  }

  test('is restored to the same log, over several pages of its list, and adds to itself', async () => {
    await makeLog()
    const { manifest } = await backUp()
    expect(manifest.segments.length).toBeGreaterThan(3)
    expect(await backUp()).toMatchObject({ events: 0 })
    double.faults.next.push(503, 500)
    await restoreBackup({
      place: place(),
      keys: KEYS,
      directory: join(directory, 'restored'),
      upTo: undefined,
      erased: new Set(),
      accept: () => undefined,
      inspect: () => undefined,
      remember: () => undefined,
      signal,
      onProgress: () => undefined,
    })
    const [log, restored] = await Promise.all(
      ['log', 'restored'].map((name) =>
        openEmbeddedStore({ directory: join(directory, name), now: () => now }),
      ),
    )
    if (log === undefined || restored === undefined) throw new Error('not opened')
    expect(await readWhole(restored)).toEqual(await readWhole(log))
    await Promise.all([log.close(), restored.close()])
    expect([...double.objects.keys()].filter((key) => key.includes('lock'))).toEqual([])
  })

  test('is refused under another secret, in another bucket and where it is full, and no message tells the secret', async () => {
    await makeLog()
    const refusing = [
      place('s3://back-ups/signal', { secret: 'another-secret' }),
      place('s3://back-ups/signal', { secret: 'another-secret', isAlone: true }),
      place('s3://other-bucket/signal'),
    ]
    for (const to of refusing) {
      const error = await backUp(to).catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ code: 'backup_unreachable' })
      expect(JSON.stringify([String(error), error])).not.toMatch(/another-secret|wJalr/)
    }
    double.faults.full = true
    await expect(backUp()).rejects.toMatchObject({ code: 'store_full' })
    double.faults.full = false
    await backUp()
  })

  test('is refused beside another one, and goes on ten minutes after one that ended without a word', async () => {
    await makeLog()
    const held = await place('s3://back-ups/signal').lock()
    now += 1
    await expect(place('s3://back-ups/signal').lock()).rejects.toMatchObject({ code: 'store_locked' })
    now += 601_000
    const taken = await place('s3://back-ups/signal').lock()
    await expect(held.renew()).rejects.toMatchObject({ code: 'store_locked' })
    await held.release()
    await expect(place('s3://back-ups/signal').lock()).rejects.toMatchObject({ code: 'store_locked' })
    await taken.release()
    await (await place('s3://back-ups/signal').lock()).release()
  })

  test.each(['refused', 'ignored'] as const)(
    'where conditional writes are %s, is refused unless nobody else backs up there',
    async (conditions) => {
      await makeLog()
      double.faults.conditions = conditions
      const refused = { code: 'backup_unreachable', nextStep: expect.stringContaining('--alone') }
      await expect(backUp()).rejects.toMatchObject(refused)
      expect([...double.objects.keys()]).toEqual([])
      const alone = (): BackupPlace => place('s3://back-ups/signal', { isAlone: true })
      await backUp(alone())
      expect(await backUp(alone())).toMatchObject({ events: 0 })
      // Two that are seen by one another are told apart all the same.
      const held = await alone().lock()
      now += 1
      await expect(alone().lock()).rejects.toMatchObject({ code: 'store_locked' })
      now += 601_000
      const taken = await alone().lock()
      await expect(held.renew()).rejects.toMatchObject({ code: 'store_locked' })
      await held.release()
      await expect(alone().lock()).rejects.toMatchObject({ code: 'store_locked' })
      await taken.release()
      expect([...double.objects.keys()].filter((key) => key.includes('lock'))).toEqual([])
    },
  )

  test('a renewal that was done and answered with an error is no lock of somebody else', async () => {
    const held = await place().lock()
    now += 61_000
    double.faults.unsaid = 1
    await held.renew()
    now += 61_000
    await held.renew()
    await held.release()
    expect([...double.objects.keys()]).toEqual([])
  })

  test('says what to set where the region or the clock is another, at once', async () => {
    await makeLog()
    const asked = (): number => double.seen.length
    await expect(backUp(place(undefined, { region: 'us-east-1' }))).rejects.toMatchObject({
      code: 'backup_unreachable',
      nextStep: expect.stringContaining('AWS_REGION=eu-central-1'),
    })
    double.faults.movedTo = 'eu-west-3'
    await expect(backUp()).rejects.toMatchObject({
      code: 'backup_unreachable',
      nextStep: expect.stringContaining('AWS_REGION=eu-west-3'),
    })
    expect(asked()).toBe(2)
    delete double.faults.movedTo
    const here = place()
    double.setClock(() => now + 1_000_000)
    await expect(backUp(here)).rejects.toMatchObject({
      code: 'backup_unreachable',
      nextStep: expect.stringContaining('clock'),
    })
    expect(asked()).toBe(3)
  })

  test('an answer without an end, and a list that goes round, are refused and not read again', async () => {
    double.faults.endless = true
    const tooLong = { code: 'backup_unreachable', message: expect.stringContaining('longer than') }
    await expect(place().list('')).rejects.toMatchObject(tooLong)
    expect(double.seen).toHaveLength(1)
    double.faults.endless = false
    double.faults.nextPage = 'a'
    await expect(place().list('')).rejects.toMatchObject({
      code: 'backup_unreachable',
      message: expect.stringContaining('names a page twice'),
    })
  })

  test('takes its credentials from a file with profiles', async () => {
    const file = join(directory, 'credentials')
    writeFileSync(
      file,
      `[default]\naws_access_key_id = x\n[other]\naws_access_key_id = ${credentials.keyId}\naws_secret_access_key=${credentials.secret}\n`,
    )
    const of = (profile: string): BackupPlace =>
      openPlace('s3://back-ups', {
        environment: {
          AWS_PROFILE: profile,
          AWS_ENDPOINT_URL: double.endpoint,
          AWS_DEFAULT_REGION: 'eu-central-1',
        },
        credentialsFile: file,
        holder: 'test',
        now: () => now,
        sleep: async () => undefined,
      })
    await of('other').put('a', Buffer.from('b'))
    expect((await of('other').get('a'))?.toString()).toBe('b')
    expect(() => of('default')).toThrow(/lacks aws_access_key_id or aws_secret_access_key/)
    expect(() => of('third')).toThrow(/has no profile \[third\]/)
  })
})
