import { execFile, spawnSync } from 'node:child_process'
import { createHmac, generateKeyPairSync, hash, sign } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import {
  checkProof,
  createSignalClient,
  type SignalClientOptions,
  type Verdict,
  verifyWebhook,
} from '../../clients/typescript/src/index.ts'
import { paymentAnswerSchema } from '../../contracts/answers/payment.ts'
import { newEvent } from '../../contracts/events/event-definition.ts'
import { SettlementRequested } from '../../contracts/events/payment-events.ts'
import { type OwnService, startOwnService } from '../../services/composition/own-service.fixture.ts'
import { startPaidService } from '../../services/http/testing/paid-service.fixture.ts'
import { ENTRY_KINDS } from '../../services/proof/tree/entry.ts'

const CLIENT = resolve(import.meta.dirname, '../../clients/python')
const hasPython = spawnSync('python3', ['--version']).status === 0
const reason = hasPython ? '' : ' (skipped: python3 not on PATH)'
const run = promisify(execFile)

/** Runs a program of Python with the client, and returns the JSON that it prints. */
async function python(program: string, input: unknown = null): Promise<unknown> {
  const script = `import json, sys\nfrom signal_client import *\nfrom signal_client.answers import *\ngiven = json.loads(sys.argv[1])\n${program}`
  const environment = { PATH: process.env.PATH, PYTHONPATH: CLIENT, PYTHONDONTWRITEBYTECODE: '1' }
  const { stdout } = await run('python3', ['-c', script, JSON.stringify(input)], { env: environment })
  return JSON.parse(stdout)
}

test('kinds of entries are those of the log', async () => {
  const kinds = (await readFile(join(CLIENT, 'signal_client/__init__.py'), 'utf8')).matchAll(
    /"(\w+)": (\d),$/gm,
  )
  expect(Object.fromEntries([...kinds].map(([, name, kind]) => [name, Number(kind)]))).toEqual(ENTRY_KINDS)
})

describe('against a service that runs', () => {
  let service: OwnService
  let url: string
  let rows: readonly Verdict[]

  const client = (change: Partial<SignalClientOptions> = {}) => createSignalClient({ url, ...change })
  const take = async (some: AsyncIterable<Verdict>, most = Number.POSITIVE_INFINITY): Promise<Verdict[]> => {
    const taken: Verdict[] = []
    for await (const row of some) {
      taken.push(row)
      if (taken.length >= most) break
    }
    return taken
  }

  beforeAll(async () => {
    service = await startOwnService({
      COINS: 'BTC',
      TIMEFRAMES: '1m',
      MARKET_SPEED: '120',
      RATE_PER_ADDRESS: 'off',
    })
    ;({ url } = service)
    while ((await take(client().replay({}), 4)).length < 4) await setTimeout(200)
    const newest = (await take(client().replay({}))).at(-1)
    rows = await take(client().replay({ to: newest?.bar_close ?? '' }))
  })
  afterAll(() => service?.stop())

  test('the client for Python is handed out as the one file beside its examples', async () => {
    const served = await fetch(`${url}/docs/examples/signal_client.py`)
    expect(await served.text()).toBe(await readFile(join(CLIENT, 'signal_client/__init__.py'), 'utf8'))
  })

  test('a tool is asked by its name, typed', async () => {
    const answer = await client().getTradeCall({ coin: 'BTC', timeframe: '1m' })
    expect(['BUY', 'SELL', 'HOLD']).toContain(answer.call)
    expect(answer).toMatchObject({ _service: { auth: { outcome: 'ABSENT', tier: 'free' } } })
    await expect(client().getTradeCall({ coin: 'NOBODY' })).rejects.toMatchObject({ code: 'unknown_coin' })
    await expect(client({ apiKey: `sk_live_${'A'.repeat(43)}` }).scanTradeCalls()).rejects.toThrow(/key/)
  })

  test('a lost or late answer is asked for again, as the same request', async () => {
    const keys: (string | null)[] = []
    const problems: (() => Promise<Response>)[] = [
      () => Promise.reject(new TypeError('fetch failed')),
      async () => new Response('busy', { status: 503, headers: { 'retry-after': '0' } }),
      async () =>
        Response.json(
          { code: 'rate_limited', message: '…' },
          { status: 429, headers: { 'retry-after': '0' } },
        ),
    ]
    const answer = await client({
      fetch: async (input, init) => {
        keys.push(new Headers(init?.headers).get('idempotency-key'))
        return problems.shift()?.() ?? fetch(input, init)
      },
    }).getTradeCall({ coin: 'BTC', timeframe: '1m' })
    expect([answer.coin, keys.length, new Set(keys).size]).toEqual(['BTC', 4, 1])
  })

  test('a call that is given up, and a name that was mistyped, are told with what to do', async () => {
    const away = client({ tries: 1, fetch: () => Promise.reject(new TypeError('fetch failed')) })
    const nextStep: unknown = expect.stringContaining('/readyz')
    await expect(away.getTradeCall({ coin: 'BTC' })).rejects.toMatchObject({ code: 'given_up', nextStep })
    await expect(take(client().replay({ coin: 'BTCC' }))).rejects.toMatchObject({
      code: 'unknown_coin',
      details: { details: { did_you_mean: 'BTC' } },
    })
  })

  test('a replay that is cut off goes on behind the last row that was whole', async () => {
    let cuts = 0
    const cutting: typeof fetch = async (input, init) => {
      const response = await fetch(input, init)
      cuts += 1
      if (cuts > 2) return response
      const bytes = new Uint8Array(await response.arrayBuffer())
      const cut = new ReadableStream({
        pull(controller) {
          controller.enqueue(bytes.slice(0, bytes.length / 2))
          controller.error(new Error('cut off'))
        },
      })
      return new Response(cut, { status: 200, headers: response.headers })
    }
    const all = await take(client({ fetch: cutting }).replay({ to: rows.at(-1)?.valid_until ?? '' }))
    const ids = all.map(({ verdict_id: id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids).toEqual(expect.arrayContaining(rows.map(({ verdict_id: id }) => id)))
  })

  test('rows come packed over a line, and as they are on one machine', async () => {
    const asked: (string | null)[] = []
    const near: typeof fetch = async (input, init) => {
      asked.push(new Headers(init?.headers).get('accept-encoding'))
      return fetch((input as string).replace('http://signals.example.com', url), init)
    }
    const filter = { to: rows.at(-1)?.bar_close ?? '' }
    for (const address of [url, 'http://signals.example.com'])
      expect(await take(client({ url: address, fetch: near }).replay(filter))).toEqual(rows.slice(0, -1))
    expect(asked).toEqual(['identity', null])
  })

  test.skipIf(!hasPython)(`and so they do for Python, also where they are cut off${reason}`, async () => {
    const found = await python(
      `
def replayed(address, cuts=0):
    signals = SignalClient(address, sleep=lambda seconds: None)
    ask, codings = signals._opener.open, []
    def near(request, **more):
        request.full_url = request.full_url.replace("http://signals.example.com", given["url"])
        response = ask(request, **more)
        codings.append(response.headers.get("Content-Encoding"))
        read, left = response.read, [len(codings) <= cuts and 300]
        if len(codings) <= cuts:
            response.read = lambda size=-1: read(left.pop()) if left else b""
        return response
    signals._opener.open = near
    rows = [row["verdict_id"] for row in signals.replay(end=given["end"])]
    return {"rows": rows, "codings": codings}
print(json.dumps([replayed(given["url"]), replayed("http://signals.example.com"), replayed("http://signals.example.com", 1)]))`,
      { url, end: rows.at(-1)?.bar_close ?? '' },
    )
    const ids = rows.slice(0, -1).map(({ verdict_id: id }) => id)
    expect(found).toEqual([
      { rows: ids, codings: [null] },
      { rows: ids, codings: ['gzip'] },
      { rows: ids, codings: ['gzip', 'gzip'] },
    ])
  })

  test('the live tail begins behind a row', async () => {
    const stopping = new AbortController()
    const after = rows[0]?.cursor ?? expect.fail('nothing was recorded')
    const live = await take(client().follow({ after }, { signal: stopping.signal }), 2)
    expect(live).toEqual(rows.slice(1, 3))
  })

  test.skipIf(!hasPython)(`Python says of each answer which members it has${reason}`, async () => {
    const found = (await python(
      `
signals = SignalClient(given["url"])
pairs = {
    "TradeCall": (TradeCall, signals.get_trade_call(coin="BTC", timeframe="1m")),
    "MarketRegime": (MarketRegime, signals.get_market_regime(coin="BTC", timeframe="1m")),
    "FundingScan": (FundingScan, signals.scan_funding_arb()),
    "RegimeShifts": (RegimeShifts, signals.get_regime_shifts(coin="BTC", timeframe="1m")),
    "Bars": (Bars, signals.bars("SIM", "BTC", "1m", start=given["start"], end=given["end"])),
    "Verdict": (Verdict, next(signals.replay(end=given["end"]))),
}
scan = signals.scan_trade_calls(timeframe="1m", include_holds=True)
pairs["TradeScan"] = (TradeScan, scan)
pairs["TradeScanCalls"] = (TradeScanCalls, scan["calls"][0])
pairs["VerdictExpectedRange"] = (VerdictExpectedRange, next(row["expected_range"] for row in signals.replay() if row["expected_range"]))
print(json.dumps({name: [sorted(kind.__required_keys__), sorted(answer.keys() - kind.__optional_keys__)] for name, (kind, answer) in pairs.items()}))`,
      { url, start: rows[0]?.bar_close, end: rows.at(-1)?.bar_close },
    )) as Record<string, [string[], string[]]>
    for (const [name, [said, answered]] of Object.entries(found)) expect(said, name).toEqual(answered)
    expect(Object.keys(found)).toHaveLength(9)
  })

  test('a proof of its log is checked by both clients, for each verdict, and not where it was changed', async () => {
    const vkeys = (await (await fetch(`${url}/log/vkeys`)).text()).trim().split('\n')
    const files = await Promise.all(
      rows.map(async ({ verdict_id: id }) => (await fetch(`${url}/log/proof/${id}`)).text()),
    )
    const checked = await Promise.all(files.map((file) => checkProof(file, vkeys)))
    expect(checked.map(({ content }) => content.data.verdictId)).toEqual(rows.map(({ verdict_id: id }) => id))
    const origins = new Set(checked.map(({ origin }) => origin))
    expect(origins.size).toBe(1)
    const [file = ''] = files
    const lines = file.split('\n')
    // Each line of it in turn is damaged: none of them is there for nothing.
    const damage = (line: string): string =>
      line.replace(/\S(?=\S*$)/, (first) => (first === 'A' ? 'B' : 'A'))
    const damaged = lines.flatMap((line, at) =>
      line === '' ? [] : [lines.with(at, damage(line)).join('\n')],
    )
    const outcomes = await Promise.all(
      damaged.map((one) =>
        checkProof(one, vkeys).then(
          () => true,
          () => false,
        ),
      ),
    )
    const byPython = hasPython
      ? await python(
          `
def is_good(text):
    try:
        return bool(check_proof(text, given["vkeys"]))
    except ProofInvalid:
        return False
print(json.dumps([is_good(text) for text in given["files"]]))`,
          { vkeys, files: [...files, ...damaged] },
        )
      : [...files.map(() => true), ...outcomes]
    expect(byPython).toEqual([...files.map(() => true), ...outcomes])
    // The signature of a key that nobody was given may be anything; all else counts.
    expect(outcomes.filter((isGood) => isGood).length).toBeLessThanOrEqual(1)
  })

  test.skipIf(!hasPython)(`Python: tools, replay and live tail${reason}`, async () => {
    const found = (await python(
      `
signals = SignalClient(given["url"])
answer = signals.get_trade_call(coin="BTC", timeframe="1m")
try:
    signals.get_trade_call(coin="NOBODY")
    code = None
except Refusal as refusal:
    code = refusal.code
try:
    SignalClient("http://127.0.0.1:9", tries=1).get_trade_call(coin="BTC")
except Refusal as refusal:
    away = [refusal.code, "/readyz" in (refusal.next_step or "")]
rows = [row["verdict_id"] for row in signals.replay(end=given["end"])]
live = signals.follow(after=given["after"])
print(json.dumps({"coin": answer["coin"], "code": code, "away": away, "rows": rows, "live": [next(live)["cursor"], next(live)["cursor"]]}))`,
      { url, end: rows.at(-1)?.bar_close, after: rows[0]?.cursor },
    )) as Record<string, unknown>
    const ids = (await take(client().replay({ to: rows.at(-1)?.bar_close ?? '' }))).map(
      ({ verdict_id: id }) => id,
    )
    expect(found).toEqual({
      coin: 'BTC',
      code: 'unknown_coin',
      away: ['given_up', true],
      rows: ids,
      live: rows.slice(1, 3).map(({ cursor }) => cursor),
    })
  })
})

describe('a service that does not end, or wants to be left alone', () => {
  let server: Server
  let url: string
  let asked: number
  let paths: string[] = []
  let answer: (response: ServerResponse) => void
  beforeAll(async () => {
    server = createServer((request, response) => {
      asked += 1
      paths.push(request.url ?? '')
      answer(response)
    })
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })

  const endless = (response: ServerResponse): void => {
    const more = (): void => {
      while (!response.destroyed && response.write('x'.repeat(65_536)));
      response.once('drain', more)
    }
    more()
  }
  test('and says nothing any more is asked again by who follows it', async () => {
    asked = 0
    answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': begun\n\n')
      if (asked > 1) response.write('event: verdict\ndata: {"cursor":"1"}\n\n')
    }
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      let [sent, begun] = [0, 0]
      const retried: string[] = []
      const counting: typeof fetch = async (input, init) => {
        sent += 1
        const response = await fetch(input, init)
        begun += 1
        return response
      }
      const client = createSignalClient({ url, fetch: counting, onRetry: (why) => void retried.push(why) })
      const next = client.follow().next()
      await vi.waitUntil(
        () => {
          // Not while the second request is under way: it would be given up, and nobody would let time pass for a third.
          if (sent === 1 && begun === 1) vi.advanceTimersByTime(10_000)
          return asked > 1
        },
        { interval: 1, timeout: 20_000 },
      )
      expect([(await next).value?.cursor, retried]).toEqual(['1', ['the stream has ended']])
    } finally {
      vi.useRealTimers()
    }
  })

  test('and ends or cuts a stream is followed on behind the last row, until it refuses', async () => {
    const event = (cursor: number): string =>
      `id: ${cursor}\nevent: verdict\ndata: ${JSON.stringify({ cursor: String(cursor) })}\n\n`
    const stream = (response: ServerResponse): ServerResponse =>
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
    const answers: ((response: ServerResponse) => void)[] = [
      (response) => {
        stream(response).write(`${event(1)}${event(2)}id: 3\ndata: {`)
        setImmediate(() => response.destroy())
      },
      (response) => void stream(response).end(event(3)),
      (response) => void response.writeHead(503).end('{"code":"shutting_down","message":"x"}'),
      (response) => void stream(response).end(event(4)),
      (response) => void response.writeHead(401).end('{"code":"unauthorized","message":"x"}'),
    ]
    answer = (response) => answers.shift()?.(response)
    paths = []
    const seen: string[] = []
    const following = async () => {
      for await (const { cursor } of createSignalClient({ url }).follow({ coin: 'BTC' })) seen.push(cursor)
    }
    await expect(following()).rejects.toMatchObject({ code: 'unauthorized' })
    expect(seen).toEqual(['1', '2', '3', '4'])
    expect(paths).toEqual([
      '/api/verdicts/stream?coin=BTC',
      ...[2, 3, 3, 4].map((after) => `/api/verdicts/stream?coin=BTC&after=${after}`),
    ])
  })

  test('and lists in circles is left, and a change that it may have done is not sent again', async () => {
    const client = createSignalClient({ url, tries: 3 })
    const answers = ['{"rows":[1],"next":"a"}', '{"rows":[2],"next":"a"}']
    asked = 0
    answer = (response) => void response.end(answers[Math.min(asked, 2) - 1])
    const rows: unknown[] = []
    const list = async () => {
      for await (const page of client.pages('/api/track-record', { coin: 'BTC' })) rows.push(page)
    }
    await expect(list()).rejects.toMatchObject({ code: 'unreadable' })
    expect(rows).toHaveLength(2)
    const failing = (status: number, code: string) => (response: ServerResponse) =>
      void response.writeHead(asked === 1 ? status : 200).end(JSON.stringify({ code, message: 'x' }))
    asked = 0
    answer = failing(503, 'store_unavailable')
    await expect(client.post('/api/webhooks', {})).rejects.toMatchObject({ code: 'store_unavailable' })
    expect(asked).toBe(1)
    asked = 0
    answer = (response) => void response.destroy()
    await expect(client.post('/api/webhooks', {})).rejects.toMatchObject({ code: 'given_up' })
    answer = (response) => void response.writeHead(502).end('<html>')
    await expect(client.delete('/api/webhooks/1')).rejects.toMatchObject({ code: 'given_up' })
    expect(asked).toBe(2)
    asked = 0
    answer = failing(429, 'rate_limited')
    expect(await client.post('/api/webhooks', {})).toMatchObject({ code: 'rate_limited' })
    expect(asked).toBe(2)
    answer = failing(503, 'unready')
    asked = 0
    expect(await client.state()).toMatchObject({ code: 'unready' })
  })

  const cases = [
    ['asks for an hour', 'given_up', (one) => void one.writeHead(429, { 'retry-after': '3600' }).end('{}')],
    ['sends a line without an end', 'unreadable', endless],
    ['goes on where it was', undefined, (one) => void one.writeHead(200, { 'x-next-cursor': '7' }).end()],
  ] as const satisfies readonly (readonly [string, string | undefined, (response: ServerResponse) => void])[]

  test.each(cases)('and %s is left', async (_name, code, given) => {
    answer = given
    const codeOf = async (work: () => Promise<unknown>): Promise<unknown> => {
      asked = 0
      return work().then(
        () => undefined,
        (error: unknown) => (error as { code?: string }).code,
      )
    }
    const client = createSignalClient({ url })
    const replay = async () => {
      for await (const _ of client.replay({}));
    }
    expect([await codeOf(replay), asked]).toEqual([code, code === undefined ? 2 : 1])
    if (code !== undefined) expect(await codeOf(() => client.payment('x'))).toBe(code)
    if (!hasPython) return
    const byPython = `
signals = SignalClient(given)
def code_of(work):
    try:
        work()
    except Refusal as refusal:
        return refusal.code
print(json.dumps([code_of(lambda: list(signals.replay())), code_of(lambda: signals.payment("x"))]))`
    const [replayed, paid] = (await python(byPython, url)) as [string | null, string | null]
    expect(replayed).toBe(code ?? null)
    if (code !== undefined) expect(paid).toBe(code)
  })
})

describe('who has no calls left pays', () => {
  let service: Awaited<ReturnType<typeof startPaidService>>
  beforeAll(async () => void (service = await startPaidService()))
  afterAll(() => service.stop())
  const newPayer = () => privateKeyToAccount(generatePrivateKey())

  test('by an account of viem, once, also where the answer is lost', async () => {
    const payments = new Set<string>()
    let lost = 0
    const signals = createSignalClient({
      url: service.url,
      payer: newPayer(),
      async fetch(input, init) {
        const answer = await fetch(input, init)
        const [payment] = /"nonce":"[^"]+"/.exec(init?.body as string) ?? []
        if (payment === undefined) return answer
        payments.add(payment)
        lost += 1
        if (lost < 3) throw new TypeError('fetch failed')
        return answer
      },
    })
    const before = service.computed.length
    const answer = await signals.getTradeCall({ coin: 'BTC' })
    expect(answer).toMatchObject({ _service: { payment: { amount_usdc: '0.02' } } })
    expect([payments.size, lost, service.computed.length - before]).toEqual([1, 3, 1])
    const {
      _service: { payment: { id } = { id: '' } },
    } = answer
    const paid = await signals.payment(id)
    expect(paid).toMatchObject({ id, amount_usdc: '0.02', refunded_usdc: '0.00' })
    await expect(signals.payment('019abcde-7c00-7001-8000-00000000000a')).rejects.toMatchObject({
      code: 'not_found',
    })
    if (!hasPython) return
    const said = await python(
      `
signals = SignalClient(given["url"])
paid = signals.payment(given["id"])
try:
    signals.payment("019abcde-7c00-7001-8000-00000000000a")
except Refusal as refusal:
    code = refusal.code
print(json.dumps([paid["state"], code, sorted(Payment.__annotations__)]))`,
      { url: service.url, id },
    )
    expect(said).toEqual([expect.any(String), 'not_found', Object.keys(paymentAnswerSchema.shape).toSorted()])
  })

  test('by the same payment, where it was handed over before the answer arrived', async () => {
    let tries = 0
    const signals = createSignalClient({
      url: service.url,
      payer: newPayer(),
      async fetch(input, init) {
        const answer = await fetch(input, init)
        const { body } = init ?? {}
        if (typeof body !== 'string' || !body.includes('"nonce"')) return answer
        tries += 1
        if (tries > 1) return answer
        const { result } = (await answer.json()) as { result: { structuredContent: TradeAnswer } }
        const { _service: said } = result.structuredContent
        await handOver(said.payment.id)
        throw new TypeError('fetch failed')
      },
    })
    const before = service.computed.length
    const answer = await signals.getTradeCall({ coin: 'ETH' })
    expect(answer).toMatchObject({
      _service: { payment: { secret: expect.any(String) } },
    })
    expect([tries, service.computed.length - before]).toEqual([2, 1])
  })

  interface TradeAnswer {
    readonly _service: { readonly payment: { readonly id: string } }
  }
  /** Records of a payment that a facilitator was asked to settle it. */
  async function handOver(paymentId: string): Promise<void> {
    for await (const { stream, data, type } of service.store.readAll()) {
      if (type !== 'PaymentClaimed' || data['paymentId'] !== paymentId) continue
      const meta = { correlationId: 'test', actor: 'test' }
      const begun = { paymentId, attempt: 1, settler: 'facilitator' } as const
      const event = newEvent(SettlementRequested, { id: crypto.randomUUID(), data: begun, meta })
      await service.store.append(stream, [event], { expected: 0 })
    }
  }

  test('and no more than it was told, and for nothing but USDC on Base', async () => {
    const payer = newPayer()
    const signed: unknown[] = []
    const watched = {
      address: payer.address,
      signTypedData: async (data: never) => (signed.push(data), payer.signTypedData(data)),
    }
    const frugal = createSignalClient({ url: service.url, payer: watched, mostUsdc: 0.019 })
    await expect(frugal.getTradeCall({ coin: 'BTC' })).rejects.toMatchObject({ code: 'offer_unacceptable' })
    const lying =
      (from: string, to: string): typeof fetch =>
      async (input, init) =>
        new Response((await (await fetch(input, init)).text()).replaceAll(from, to))
    for (const [from, to] of [
      ['eip155:8453', 'eip155:1'],
      ['0x833589', '0x933589'],
      ['"USD Coin"', '"USD Coins"'],
    ] as const) {
      const signals = createSignalClient({ url: service.url, payer: watched, fetch: lying(from, to) })
      await expect(signals.getTradeCall({ coin: 'BTC' })).rejects.toThrow(/offer_unacceptable|is no/)
    }
    expect(signed).toEqual([])
    await expect(createSignalClient({ url: service.url }).scanTradeCalls()).rejects.toMatchObject({
      code: 'quota_exhausted',
    })
  })
})

describe('a delivery', () => {
  const secret = 'whsec_c2VjcmV0'
  const body = JSON.stringify({
    event: 'trade_call',
    delivery_id: 'a',
    created_at: 'now',
    data: { coin: 'BTC' },
  })
  const now = 1_800_000_000_000
  const signed = (text: string, key = secret): string =>
    createHmac('sha256', key)
      .update(`${now / 1_000}.${text}`)
      .digest('hex')
  const signature = signed(body)
  const headers = {
    'X-Service-Event': 'trade_call',
    'X-Service-Delivery': 'a',
    'X-Service-Timestamp': String(now / 1_000),
    'X-Service-Signature': signature,
  }
  const cases = [
    ['as it was sent', {}, true],
    [
      'signed by a newer secret',
      {
        headers: { ...headers, 'X-Service-Signature': 'ab', 'X-Service-Signature-Next': `cd, ${signature}` },
      },
      true,
    ],
    ['with another body', { body: body.replace('BTC', 'ETH') }, false],
    ['of another secret', { secret: 'whsec_b3RoZXI=' }, false],
    ['sent again later', { now: now + 301_000 }, false],
    ['without a time', { headers: { ...headers, 'X-Service-Timestamp': '' } }, false],
    ['under another name', { headers: { ...headers, 'X-Service-Delivery': 'b' } }, false],
    ['without a signature', { headers: { ...headers, 'X-Service-Signature': '' } }, false],
    [
      'signed with the empty secret of a receiver that has none',
      { secret: '', headers: { ...headers, 'X-Service-Signature': signed(body, '') } },
      false,
    ],
    ...['x', '7', '{}', 'null'].map(
      (text) =>
        [
          `that is signed, and is ${text}`,
          { body: text, headers: { ...headers, 'X-Service-Signature': signed(text) } },
          false,
        ] as const,
    ),
  ] as const
  const all = cases.map(([, change, isGood]) => ({ secret, headers, body, now, ...change, isGood }))

  test.each(cases)('%s', async (_, change, isGood) => {
    const verified = verifyWebhook({ secret, headers, body, now, ...change })
    if (isGood) expect(await verified).toMatchObject({ data: { coin: 'BTC' } })
    else await expect(verified).rejects.toMatchObject({ code: 'webhook_invalid' })
    const ofFetch = verifyWebhook({
      secret,
      body,
      now,
      ...change,
      headers: new Headers({ ...headers, ...('headers' in change && change.headers) }),
    })
    expect(
      await ofFetch.then(
        () => true,
        () => false,
      ),
    ).toBe(isGood)
  })

  test.skipIf(!hasPython)(`Python decides the same${reason}`, async () => {
    const decided = await python(
      `
def is_good(one):
    try:
        return bool(verify_webhook(one["secret"], one["headers"], one["body"].encode(), one["now"] / 1000))
    except WebhookInvalid:
        return False
print(json.dumps([is_good(one) for one in given]))`,
      all,
    )
    expect(decided).toEqual(all.map(({ isGood }) => isGood))
  })
})

describe('a proof', () => {
  const sha = (...parts: Buffer[]): Buffer => hash('sha256', Buffer.concat(parts), 'buffer')
  const content = JSON.stringify({
    data: { validUntil: 1_800_000_000_000 },
    id: 'x',
    schema: 1,
    type: 'VerdictRecorded',
  })
  const opens = Buffer.alloc(8)
  opens.writeBigUInt64BE(1_800_000_000_000n)
  const entry = Buffer.concat([Buffer.of(1, 1), opens, sha(Buffer.from(content))])
  const leaves = [entry, ...[1, 2, 3, 4].map((number) => Buffer.alloc(42, number))].map((one) =>
    sha(Buffer.of(0), one),
  )
  const node = (left: Buffer | undefined, right: Buffer | undefined): Buffer =>
    sha(Buffer.of(1), left ?? Buffer.of(), right ?? Buffer.of())
  const [a, b, c, d, e] = leaves
  const root = node(node(node(a, b), node(c, d)), e)
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const raw = Buffer.concat([Buffer.of(1), publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)])
  const id = sha(Buffer.from('log.example\n'), raw).subarray(0, 4)
  const vkey = `log.example+${id.toString('hex')}+${raw.toString('base64')}`
  const text = `log.example\n5\n${root.toString('base64')}\n`
  const line = Buffer.concat([id, sign(null, Buffer.from(text), privateKey)]).toString('base64')
  const path = [b, node(c, d), e].map((one) => one?.toString('base64'))
  const file = [
    'c2sp.org/tlog-proof@v1',
    `extra ${Buffer.from(content).toString('base64')}`,
    'index 0',
    ...path,
    '',
    text,
    `— log.example ${line}\n`,
  ].join('\n')
  const other = { content: Buffer.from(content.replace('"x"', '"y"')).toString('base64') }
  const cases = [
    ['as it is', file, [vkey], true],
    ['of another event', file.replace(/extra .*/, `extra ${other.content}`), [vkey], false],
    ['at another place', file.replace('index 0', 'index 1'), [vkey], false],
    ['of a larger tree', file.replace('\n5\n', '\n6\n'), [vkey], false],
    ['with a hash less', file.replace(`${path[2]}\n`, ''), [vkey], false],
    ['by nobody who is known', file, [], false],
    ['by another key', file, [vkey.replace('log.example', 'log.elsewhere')], false],
    ['cut off', file.slice(0, -40), [vkey], false],
    ['that is none', '{}', [vkey], false],
  ] as const

  test.each(cases)('%s', async (_, given, keys, isGood) => {
    const checked = checkProof(given, keys)
    if (isGood)
      expect(await checked).toMatchObject({ content: { id: 'x' }, index: 0, size: 5, origin: 'log.example' })
    else await expect(checked).rejects.toMatchObject({ code: 'proof_invalid' })
  })

  test.skipIf(!hasPython)(`Python decides the same${reason}`, async () => {
    const decided = await python(
      `
def is_good(text, keys):
    try:
        return bool(check_proof(text, keys))
    except ProofInvalid:
        return False
print(json.dumps([is_good(*one) for one in given]))`,
      cases.map(([, given, keys]) => [given, keys]),
    )
    expect(decided).toEqual(cases.map(([, , , isGood]) => isGood))
  })
})
