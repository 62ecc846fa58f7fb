import { sampleAnswer } from '../services/mcp/testing/sample-answers.fixture.ts'
import { reportMcpLoad } from './support/mcp-load.ts'

/**
 * Cost of the edge itself for a `tools/call`: a call path that answers at once behind it, beside a bare POST of
 * the same answer and beside the SDK alone. About a minute.
 *
 * node bench/mcp.bench.ts          BENCH_ROUNDS=3 BENCH_SECONDS=1
 *
 * Budget: at least 0.8 of the bare POST, since nothing is debited here; calls.bench.ts has the budgets of counted calls.
 */
const answer = sampleAnswer('get_trade_call')

await reportMcpLoad({
  payers: '',
  floor: 0.8,
  calls: { call: async () => ({ body: answer, isReplay: false }) },
  answer,
  hasPeer: true,
  authorization: 'Bearer sk_live_bench',
  connections: [16, 64],
  rounds: Number(process.env.BENCH_ROUNDS ?? 3),
  seconds: Number(process.env.BENCH_SECONDS ?? 1),
})
