import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { logFile, openEmbeddedStore } from '../embedded/embedded-store.ts'
import { openStoredRows } from '../embedded/stored-rows.ts'
import { restoreBackup } from './restore-backup.ts'
import { openStorage } from './s3-storage.ts'
import type { BackupStorage } from './storage.ts'
import { takeBackup } from './take-backup.ts'
import { appendKey, appendSome, beginLog, readWhole } from './testing/made-log.fixture.ts'
import { startS3Double } from './testing/s3-double.fixture.ts'

const KEY = Buffer.alloc(32, 1)
const credentials = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
}

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
    { secret = credentials.secretAccessKey, region = 'eu-central-1' } = {},
  ): BackupStorage =>
    openStorage(address, {
      environment: {
        AWS_ENDPOINT_URL_S3: double.endpoint,
        AWS_REGION: region,
        AWS_ACCESS_KEY_ID: credentials.accessKeyId,
        AWS_SECRET_ACCESS_KEY: secret,
      },
      now: () => now,
      sleep: async () => undefined,
    })
  const signal = new AbortController().signal

  async function backUp(to = place()) {
    const rows = openStoredRows(logFile(join(directory, 'log')))
    try {
      return await takeBackup({
        rows,
        storage: to,
        key: KEY,
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
      storage: place(),
      key: KEY,
      directory: join(directory, 'restored'),
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
    expect([...double.objects.keys()].filter((key) => key.includes('probe'))).toEqual([])
  })

  test('is refused under another secret, in another bucket and where it is full, and no message tells the secret', async () => {
    await makeLog()
    const refusing = [
      place('s3://back-ups/signal', { secret: 'another-secret' }),
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

  test('of two at once, the second to write what there is ends, and the next run goes on', async () => {
    await makeLog()
    await backUp()
    const [one, other] = [place(), place()]
    const read = await one.get('backup.json')
    const version = await one.replace('backup.json', Buffer.from('{"by":"one"}'), read?.version)
    const late = other.replace('backup.json', Buffer.from('{"by":"other"}'), read?.version)
    await expect(late).rejects.toMatchObject({
      code: 'store_locked',
      message: expect.stringContaining('first'),
    })
    await one.replace('backup.json', read?.body ?? Buffer.alloc(0), version)
    expect(await backUp()).toMatchObject({ events: 0 })
  })

  test.each(['refused', 'ignored'] as const)(
    'is refused where conditional writes are %s, and leaves nothing',
    async (conditions) => {
      await makeLog()
      double.faults.conditions = conditions
      const refused = {
        code: 'backup_unreachable',
        message: expect.stringContaining('no conditional writes'),
      }
      await expect(place().replace('backup.json', Buffer.from('{}'), undefined)).rejects.toMatchObject(
        refused,
      )
      expect([...double.objects.keys()]).toEqual([])
      await expect(backUp()).rejects.toMatchObject(refused)
    },
  )

  test('a write that was done and answered with an error is not taken for one of somebody else', async () => {
    const to = place()
    const version = await to.replace('backup.json', Buffer.from('1'), undefined)
    double.faults.unsaid = 1
    expect(await to.replace('backup.json', Buffer.from('2'), version)).not.toBe(version)
    expect((await to.get('backup.json'))?.body.toString()).toBe('2')
  })

  test('names the region of the bucket, or that the clock is another, at once', async () => {
    await makeLog()
    const asked = (): number => double.seen.length
    await expect(backUp(place(undefined, { region: 'us-east-1' }))).rejects.toMatchObject({
      code: 'backup_unreachable',
      message: expect.stringContaining('AWS_REGION=eu-central-1'),
    })
    double.faults.movedTo = 'eu-west-3'
    await expect(backUp()).rejects.toMatchObject({
      code: 'backup_unreachable',
      message: expect.stringContaining('AWS_REGION=eu-west-3'),
    })
    expect(asked()).toBe(2)
    delete double.faults.movedTo
    const here = place()
    double.setClock(() => now + 1_000_000)
    await expect(backUp(here)).rejects.toMatchObject({
      code: 'backup_unreachable',
      message: expect.stringContaining('RequestTimeTooSkewed'),
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

  test('is refused without credentials, and says which variables hold them', () => {
    const options = { environment: { AWS_ACCESS_KEY_ID: 'x' }, now: Date.now, sleep: async () => undefined }
    expect(() => openStorage('s3://back-ups', options)).toThrow(/AWS_SECRET_ACCESS_KEY is not set/)
  })
})
