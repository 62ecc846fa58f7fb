import { z } from 'zod'
import { addressSchema } from '../../../contracts/chain.ts'
import { defineSettings } from './setting-definition.ts'
import { onOrOff, url, usdc } from './setting-schemas.ts'

const privateKey = z
  .string()
  .refine((text) => /^0x[0-9a-f]{64}$/i.test(text), { message: 'must be 0x and 64 hexadecimal digits' })
  .optional()

/** Settings of payments for single calls and plans. */
export const PAYMENT_SETTINGS = defineSettings({
  X402_PAY_TO: {
    schema: addressSchema.optional(),
    help: 'Address on Base that USDC is paid to. Default: none, calls cannot be paid for one by one.',
    example: '0x2222222222222222222222222222222222222222',
  },
  X402_RPC_URL: {
    schema: url(['http:', 'https:']),
    help: 'Node of the Base chain that payers are checked by and payments are settled through. Default: none; then X402_FACILITATOR_URL settles, or payments are not taken.',
    isSecret: true,
    example: 'https://base.example.com/v1/key',
  },
  X402_SETTLER_KEY: {
    schema: privateKey,
    help: 'Private key of the wallet that sends settlements and pays their gas; needs X402_RPC_URL. It can spend nothing of the payers, and receives nothing. Default: none.',
    isSecret: true,
    example: 'the output of: echo 0x$(openssl rand -hex 32)',
  },
  X402_FACILITATOR_URL: {
    schema: url(['http:', 'https:']),
    help: 'Facilitator that settles instead of a wallet of our own (/verify, /settle, /supported). Default: none.',
    example: 'https://api.cdp.coinbase.com/platform/v2/x402',
  },
  X402_FACILITATOR_TOKEN: {
    schema: z.string().min(1).max(4_096).optional(),
    help: 'Bearer token for the facilitator. Default: none.',
    isSecret: true,
    example: 'the token that your facilitator gave you',
  },
  X402_CDP_KEY: {
    schema: z
      .string()
      .refine((text) => /^[^:\s]{1,256}:\S{1,4096}$/.test(text), { message: 'must be id:secret' })
      .optional(),
    help: "Key of Coinbase's Developer Platform, as id:secret; a token for each request to the facilitator is made of it. Default: none.",
    isSecret: true,
    example: '0f5c…:MC4CAQAwBQYDK2VwBCIEIE…',
  },
  X402_GATEWAY_URL: {
    schema: z.union([z.literal('off'), url(['http:', 'https:']).unwrap()]).optional(),
    help: 'Facilitator of the payment gateway that is offered as a second rail, or off. Default: https://gateway-api.circle.com/v1/x402 on a live market; otherwise the rail is offered and not taken, and on a demo chain not offered.',
    example: 'off',
  },
  X402_PAYER_CAP: {
    schema: usdc('1'),
    help: 'USDC that one payer may have claimed and not settled; beyond it answers wait for the settlement. Default: 1.',
    example: '0.5',
  },
  X402_TOTAL_CAP: {
    schema: usdc('50'),
    help: 'USDC that all payers together may have claimed and not settled; beyond it answers wait for their money. Default: 50.',
    example: '20',
  },
  DEMO_CHAIN: {
    schema: onOrOff(),
    isSwitch: true,
    help: 'Starts a chain of its own on this machine, with play money, so that a paid call can be tried; not with a live market. As a flag it needs no value. Default: false.',
    example: 'true',
  },
})
