import { spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { PROMISED_PREFIX } from '../../../projections/index.ts'
import {
  type MadeUpLog,
  NOW,
  nextId,
  openMadeUpLog,
  removeMadeUpLogs,
} from '../testing/made-up-log.fixture.ts'
import { createAnchorer } from './anchorer.ts'
import { formatTimestampFile, merged, parseTimestampFile } from './timestamp-file.ts'
import { Timestamper } from './timestamper.ts'

const { signal } = new AbortController()
afterEach(removeMadeUpLogs)

async function openLog(): Promise<MadeUpLog> {
  const log = await openMadeUpLog()
  await log.sign()
  return log
}

async function record(log: MadeUpLog, ...hours: readonly number[]): Promise<void> {
  await log.record(...hours)
  await log.sign()
}

const partsOf = (log: MadeUpLog, clock: { now: number }) => ({
  store: log.store,
  tree: log.tree,
  row: log.row,
  newId: nextId,
  now: () => clock.now,
  marketNow: () => clock.now,
  sleep: async () => undefined,
})

describe('checkpoints on the chain', () => {
  function anchoring(log: MadeUpLog, isCosigned = false) {
    const [clock, texts, problems]: [{ now: number }, string[], string[]] = [{ now: NOW }, [], []]
    let fault: string | undefined
    const anchorer = createAnchorer({
      ...partsOf(log, clock),
      isCosigned,
      everyMs: 5 * 60_000,
      writer: () => async (text) => {
        if (fault !== undefined) throw new Error(fault)
        texts.push(text)
        const name = `0x${hash('sha256', text)}`
        return { chainId: 8453, transaction: name, blockNumber: texts.length, blockHash: name }
      },
      onProblem: (why) => void problems.push(why),
    })
    return {
      clock,
      texts,
      problems,
      fail: (why: string | undefined) => (fault = why),
      async look() {
        await anchorer.look(signal)
        await log.catchUp()
      },
    }
  }

  test('are what was signed, each once, and say how many verdicts were in time', async () => {
    const log = await openLog()
    const chain = anchoring(log)
    expect(log.views.anchors(0)).toEqual({
      newest: null,
      since_size: null,
      verdicts: 0,
      anchored_before_close: 0,
      share: null,
      anchors: [],
      next: null,
    })
    await chain.look()
    await chain.look()
    const [text = ''] = chain.texts
    expect([chain.texts.length, log.views.checkpoint().startsWith(text), text.split('\n').length]).toEqual([
      1,
      true,
      4,
    ])
    // One window that is open, one that has closed.
    await record(log, 20, 2)
    await chain.look()
    expect(chain.texts).toHaveLength(1)
    chain.clock.now += 5 * 60_000
    await chain.look()
    const { anchors, ...figures } = log.views.anchors(0)
    expect(figures).toMatchObject({ verdicts: 2, anchored_before_close: 1, share: 0.5, next: null })
    expect(figures.newest).toMatchObject({ is_cosigned: false, anchored_at: chain.clock.now })
    const sizes = anchors.map(({ size }) => size)
    expect(chain.texts).toEqual(sizes.map((size) => String(log.views.anchor(size, 'checkpoint'))))
    expect(log.views.anchors(sizes[0] ?? 0).anchors).toEqual(anchors.slice(1))
    expect(anchors[1]?.chain).toMatchObject({ chain_id: 8453, block_number: 2 })
    // What closes while nothing is anchored counts against the share.
    await record(log, 30)
    expect(log.views.anchors(0)).toMatchObject({ verdicts: 3, share: 1 / 3 })
    expect(() => log.views.anchor(sizes[1] ?? 0, 'ots')).toThrow(
      expect.objectContaining({ code: 'log_not_there' }),
    )
  })

  test('wait for witnesses where the log has them', async () => {
    const chain = anchoring(await openLog(), true)
    await chain.look()
    expect([chain.texts, chain.problems]).toEqual([[], []])
  })

  test('are tried again after a while, and what keeps them is told once', async () => {
    const log = await openLog()
    const chain = anchoring(log)
    chain.fail('the wallet is empty')
    for (let minute = 0; minute < 3; minute++) {
      await chain.look()
      await chain.look()
      chain.clock.now += 60_000
    }
    expect(chain.problems).toEqual(['the wallet is empty'])
    chain.fail(undefined)
    await chain.look()
    expect(log.views.anchors(0).anchors).toHaveLength(1)
  })
})

/** Bytes of a length in front of them. */
const counted = (bytes: Buffer): Buffer => Buffer.concat([Buffer.of(bytes.length), bytes])
const PENDING = '83dfe30d2ef90c8e'
const BITCOIN = '0588960d73d71901'
const attested = (tag: string, payload: Buffer): Buffer =>
  Buffer.concat([Buffer.of(0), Buffer.from(tag, 'hex'), counted(payload)])

/** Reads a file of OpenTimestamps with nothing of ours: what is attested, of which message. */
function walk(file: Buffer): { digest: string; found: string[] } {
  expect(file.subarray(0, 33).toString('hex')).toBe(
    '004f70656e54696d657374616d7073000050726f6f6600bf89e2e884e892940108',
  )
  let at = 33
  const next = (count: number): Buffer => file.subarray(at, (at += count))
  const found: string[] = []
  function branch(message: Buffer): void {
    for (let more = true; more; ) {
      more = file[at] === 0xff
      if (more) at += 1
      const tag = next(1)[0]
      if (tag === 0) {
        const name = next(8).toString('hex')
        found.push(`${name} ${next(next(1)[0] ?? 0).toString('hex')} ${message.toString('hex')}`)
      } else if (tag === 0x08) branch(hash('sha256', message, 'buffer'))
      else {
        const bytes = next(next(1)[0] ?? 0)
        branch(Buffer.concat(tag === 0xf0 ? [message, bytes] : [bytes, message]))
      }
    }
  }
  const digest = next(32)
  branch(digest)
  expect(at).toBe(file.length)
  return { digest: digest.toString('hex'), found }
}

/** Debian's own, where another one stands before it on the path. */
const python = ['python3', '/usr/bin/python3'].find(
  (one) => spawnSync(one, ['-c', 'import opentimestamps']).status === 0,
)
const noTool = python !== undefined ? '' : ' (skipped: python3-opentimestamps is not installed)'

describe('timestamps of calendars', () => {
  /** Two calendars: one has it in a block from some time on, one is away at first. */
  function calendars() {
    const state = { isMined: false, isAway: true, body: undefined as Buffer | undefined }
    const fetched: string[] = []
    const fetch = (async (input: string, init: RequestInit) => {
      const { host, pathname } = new URL(input)
      fetched.push(`${init.method ?? 'GET'} ${host}${pathname.slice(0, 11)}`)
      if (host === 'b.example' && state.isAway) throw new Error('away')
      const uri = Buffer.from(`https://${host}`)
      if (init.method === 'POST') {
        if (state.body !== undefined) return new Response(new Uint8Array(state.body))
        const promise = attested(PENDING, counted(uri))
        return new Response(
          Buffer.concat([Buffer.of(0xf0, 4), Buffer.from('salt'), Buffer.of(0x08), promise]),
        )
      }
      if (!state.isMined) return new Response('Not found', { status: 404 })
      const block = Buffer.concat([
        Buffer.of(0xf1, 2),
        Buffer.from('in'),
        Buffer.of(0x08),
        attested(BITCOIN, Buffer.from([0xc0, 0xcf, 0x24])),
      ])
      return new Response(new Uint8Array(block))
    }) as typeof globalThis.fetch
    return { state, fetched, fetch }
  }

  function stamping(log: MadeUpLog, { fetch }: { fetch: typeof globalThis.fetch }) {
    const [clock, problems]: [{ now: number }, string[]] = [{ now: NOW }, []]
    const stamper = new Timestamper({
      ...partsOf(log, clock),
      calendars: ['https://a.example', 'https://b.example'],
      promised: (limit) => log.rows({ prefix: PROMISED_PREFIX, limit }),
      fetch,
      onProblem: (calendar, why) => void problems.push(`${calendar}: ${why}`),
    })
    return {
      clock,
      problems,
      async look() {
        await stamper.look(signal)
        await log.catchUp()
      },
    }
  }
  const digestOf = (log: MadeUpLog, size: number): string =>
    hash('sha256', log.views.anchor(size, 'checkpoint'))

  test('are of the text of a checkpoint, promised first and then in a block of Bitcoin', async () => {
    const log = await openLog()
    const world = calendars()
    const stamps = stamping(log, world)
    await stamps.look()
    expect(stamps.problems).toEqual(['https://b.example: away'])
    const [anchor] = log.views.anchors(0).anchors
    const size = anchor?.size ?? 0
    expect(anchor).toMatchObject({
      chain: null,
      timestamp: { path: `/log/anchors/${size}.ots`, bitcoin_block: null },
    })
    const promised = walk(log.views.anchor(size, 'ots'))
    expect([promised.digest, promised.found.length]).toEqual([digestOf(log, size), 1])
    expect(promised.found[0]).toContain(Buffer.from('https://a.example').toString('hex'))

    // Within the hour nothing is stamped anew; those who promised are asked every ten minutes.
    world.state.isMined = true
    stamps.clock.now += 600_000
    await stamps.look()
    expect(log.views.anchors(0).anchors).toMatchObject([{ timestamp: { bitcoin_block: 600_000 } }])
    const mined = walk(log.views.anchor(size, 'ots'))
    expect(mined.digest).toBe(digestOf(log, size))
    const salted = hash(
      'sha256',
      Buffer.concat([Buffer.from(mined.digest, 'hex'), Buffer.from('salt')]),
      'buffer',
    )
    const inBlock = hash('sha256', Buffer.concat([Buffer.from('in'), salted]))
    expect(mined.found).toContainEqual(expect.stringContaining(`${BITCOIN} c0cf24 ${inBlock}`))
    const asked = world.fetched.length
    stamps.clock.now += 600_000
    await stamps.look()
    expect(world.fetched).toHaveLength(asked)
  })

  test.each([
    ['nothing', Buffer.alloc(0)],
    ['what is cut off', Buffer.of(0xf0, 4, 1)],
    ['an operation of others', Buffer.concat([Buffer.of(0x67), attested(PENDING, Buffer.alloc(1))])],
    ['more than a stamp', Buffer.concat([attested(PENDING, Buffer.alloc(1)), Buffer.of(1)])],
    ['steps without an end', Buffer.alloc(2_000, 0x08)],
    ['more bytes than a stamp has', Buffer.alloc(30_000, 0x08)],
  ])('a calendar that answers %s is told of, and nothing is recorded', async (_what, body) => {
    const log = await openLog()
    const world = calendars()
    world.state.body = body
    const stamps = stamping(log, world)
    await stamps.look()
    expect([stamps.problems.length, log.views.anchors(0).anchors]).toEqual([2, []])
  })

  test.skipIf(python === undefined)(`are read by the reference implementation${noTool}`, async () => {
    const log = await openLog()
    const world = calendars()
    world.state.isAway = false
    const stamps = stamping(log, world)
    await stamps.look()
    world.state.isMined = true
    stamps.clock.now += 600_000
    await stamps.look()
    const [anchor] = log.views.anchors(0).anchors
    const folder = mkdtempSync(join(tmpdir(), 'ots-'))
    writeFileSync(join(folder, 'a.ots'), log.views.anchor(anchor?.size ?? 0, 'ots'))
    const program = `import sys
from opentimestamps.core.timestamp import DetachedTimestampFile
from opentimestamps.core.serialize import StreamDeserializationContext
found = DetachedTimestampFile.deserialize(StreamDeserializationContext(open(sys.argv[1], 'rb')))
print(found.file_digest.hex(), sorted(str(type(a).__name__) for m, a in found.timestamp.all_attestations()))`
    const { stdout, stderr } = spawnSync(python ?? '', ['-c', program, join(folder, 'a.ots')], {
      encoding: 'utf8',
    })
    rmSync(folder, { recursive: true })
    expect([stdout, stderr]).toEqual([
      `${digestOf(log, anchor?.size ?? 0)} ['BitcoinBlockHeaderAttestation', 'PendingAttestation', 'PendingAttestation']\n`,
      '',
    ])
  })

  test('a file is what it was when it is read and written, and merged with itself', () => {
    const digest = hash('sha256', 'x', 'buffer')
    const head = Buffer.from('004f70656e54696d657374616d7073000050726f6f6600bf89e2e884e892940108', 'hex')
    const two = [attested(PENDING, counted(Buffer.from('https://a'))), attested(BITCOIN, Buffer.of(7))]
    const file = Buffer.concat([
      head,
      digest,
      Buffer.of(0xff),
      two[0] ?? head,
      Buffer.of(0xff),
      two[1] ?? head,
      Buffer.of(0x08),
      two[1] ?? head,
    ])
    const read = parseTimestampFile(file)
    expect(formatTimestampFile(read)).toEqual(file)
    expect(formatTimestampFile(merged(read, read))).toEqual(file)
    expect(() => parseTimestampFile(file.subarray(1))).toThrow(/no timestamp/)
  })
})
