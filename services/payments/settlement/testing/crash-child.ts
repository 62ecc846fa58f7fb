import { privateKeyToAccount } from 'viem/accounts'
import { BASE } from '../../../../contracts/domain/chain.ts'
import { openEmbeddedStore } from '../../../log/embedded/embedded-store.ts'
import type { EventStore } from '../../../log/event-store.ts'
import { createChain } from '../../chain/create-chain.ts'
import { settlementWorld } from '../../testing/chain/settlement-world.ts'
import { createFacilitator } from '../facilitator.ts'
import type { SettlerOptions } from '../settler.ts'

/**
 * A process that claims and settles, and kills itself at the n-th step of what a crash could part: before and behind
 * each append, and before and behind each request to the facilitator. Without a step it ends by itself once nothing is open.
 *
 * crash-child.ts {data folder} {rpc url} {facilitator url} {payer key} {claims} {step}
 */
const [directory = '', rpcUrl = '', facilitatorUrl = '', payerKey = '', claims = '0', step = '0'] =
  process.argv.slice(2)

let left = Number(step)
function mayCrash(): void {
  if (left > 0 && --left === 0) process.kill(process.pid, 'SIGKILL')
}

const opened = await openEmbeddedStore({ directory, now: Date.now })
const payer = privateKeyToAccount(payerKey as `0x${string}`)
const world = settlementWorld({ store: opened })
for (let claim = 0; claim < Number(claims); claim++) await world.claim({ payer, value: 10_000n })

const store: EventStore = {
  ...opened,
  async append(...given) {
    mayCrash()
    const result = await opened.append(...given)
    mayCrash()
    return result
  },
}
const crashing = settlementWorld({ store })
const facilitator = createFacilitator({
  on: BASE,
  url: facilitatorUrl,
  publicUrl: () => 'https://signals.example.com',
})
const options: Partial<SettlerOptions> = {
  chain: createChain({ on: BASE, rpcUrl, elapsed: () => performance.now() }),
  facilitator: {
    ...facilitator,
    async settle(...given) {
      mayCrash()
      const verdict = await facilitator.settle(...given)
      mayCrash()
      return verdict
    },
  },
  async onPaid({ paymentId }) {
    mayCrash()
    process.stdout.write(`${paymentId}\n`)
  },
}
const settler = await crashing.start(options)
// It has seen the past by the time that its first trouble or its first look is over.
await crashing.pause()
while (settler.health().open > 0) await crashing.pause()
await crashing.stop()
await opened.close()
