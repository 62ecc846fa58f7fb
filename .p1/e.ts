import { randomBytes } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { openEmbeddedStore } from '../services/platform/event-store/embedded/embedded-store.ts'
import { startProjector } from '../services/platform/projector/projector.ts'
import { openRowTables } from '../services/platform/projector/row-tables.ts'
import { payments as proj } from '../projections/index.ts'
import { createPaymentIndex, createPayments, openRecovery } from '../services/payments/index.ts'
import { anAuthorization, encoded, paymentV2, payerNumber, signAuthorization, PAY_TO } from '../services/payments/testing/sign-payment.ts'
import { sleep } from '../services/platform/async/sleep.ts'
import { uuidV7 } from '../services/platform/ids/uuid.ts'
const dir = mkdtempSync('/tmp/p1/e-')
const store = await openEmbeddedStore({ directory: dir + '/s', now: Date.now })
const projector = startProjector({ store, tables: openRowTables(dir + '/r.db', 'x'), projections: [proj as never], sleep })
await projector.caughtUp()
const newId = () => uuidV7(Date.now(), randomBytes(10))
const payments = createPayments({ store, index: createPaymentIndex(projector), chain: undefined, payTo: PAY_TO, offersGateway: true, taking: ['direct'], caps: { payer: 10n ** 15n, total: 10n ** 15n }, recovery: await openRecovery({ report: console.log }), newId, now: Date.now, sleep, onClaimed: () => {}, report: console.log })
const N = 6000
const payer = payerNumber(3)
const nowS = Math.floor(Date.now() / 1000)
const headers: string[] = []
for (let n = 0; n < N; n++) { const a = anAuthorization(payer, { validBefore: BigInt(nowS + 900), nonce: `0x${randomBytes(32).toString('hex')}` }); headers.push(encoded(paymentV2(a, await signAuthorization(payer, a)))) }
const answer = JSON.stringify({ call: 'BUY', x: 'y'.repeat(1200) })
let i = 0
const t = performance.now(), c = process.cpuUsage()
await Promise.all(Array.from({ length: 64 }, async () => { while (i < N) { const h = headers[i++]!; const p = payments.read(['X-PAYMENT', h])!; const v = await payments.verify(p, 20_000n); if (await payments.find(v)) throw 1; await payments.requirePayable(v); await payments.claim(v, { product: 'get_trade_call', requestHash: 'a'.repeat(64), answer, accountId: null, mustSettleFirst: false, requestId: 'r' }) } }))
const ms = performance.now() - t; const u = process.cpuUsage(c)
console.log(N / ms * 1000, 'paid/s', (u.user + u.system) / N, 'us cpu each')
await projector.caughtUp(); await payments.close(); await projector.close(); await store.close()
