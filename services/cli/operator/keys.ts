import { z } from 'zod'
import {
  endedAnswerSchema,
  keysAnswerSchema,
  signInAnswerSchema,
} from '../../../contracts/account-answers.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { exactInstantParameter } from '../../../contracts/instant-parameter.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { tierSchema } from '../../../contracts/plans.ts'
import type { Command, CommandInput } from '../kit/command.ts'
import { operatorCommand, requireId } from '../kit/operator-command.ts'
import type { Service } from '../kit/service.ts'

const accountFlag = {
  schema: z.uuid().toLowerCase().optional(),
  help: 'Id of an account.',
  example: '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55',
}

const createCommand = operatorCommand({
  name: 'keys create',
  summary: 'Makes an API key and writes it to standard output, where it is seen once.',
  notes: [
    'Without --account an account is opened: for the address of --email, whose owner can sign in to it, or without one. With --tier a plan of 30 days begins; `free` begins none.',
  ],
  flags: {
    tier: { schema: tierSchema.optional(), help: 'Plan to begin: starter or pro.', example: 'starter' },
    email: {
      schema: z.string().max(LIMITS.emailCharacters).optional(),
      help: 'Address of the account.',
      example: 'ada@example.com',
    },
    account: accountFlag,
    label: {
      schema: z.string().max(LIMITS.keyLabelCharacters).default('operator'),
      help: 'What to call the key. Default: operator.',
      example: 'my bot',
    },
  },
  examples: ['signal keys create --tier starter', 'signal keys create --tier pro --email ada@example.com'],
  async act({ requests, flags: { tier, email, account, label }, stderr }) {
    const body = {
      label,
      ...(tier && { tier }),
      ...(email && { email }),
      ...(account && { account_id: account }),
    }
    const made = await requests.post('/operator/keys', body, signInAnswerSchema)
    stderr.write(`key ${made.key_id} of account ${made.account_id}, tier ${made.tier}\n`)
    return made
  },
  words: ({ key }) => `${key}\n`,
})

const listCommand = operatorCommand({
  name: 'keys list',
  summary: 'Writes the keys of an account that apply, one JSON object a line, without the keys themselves.',
  flags: { account: { ...accountFlag, schema: z.uuid().toLowerCase() } },
  examples: ['signal keys list --account 5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55'],
  async *act({ requests, flags }) {
    const query = { account_id: flags.account }
    yield* (await requests.get('/operator/keys', query, keysAnswerSchema)).keys
  },
})

const revokeCommand = operatorCommand({
  name: 'keys revoke',
  summary: 'Revokes a key, or everything that was issued before an instant.',
  notes: [
    'The id is that of `signal keys list`, not the key. With --issued-before instead, all keys of all accounts that were issued before then are revoked, and older sessions and programs end: what a restore brought back to life.',
  ],
  operand: {
    name: 'key_id?',
    read: (_name, text) => (text === '' ? '' : requireId('key_id', text)),
  },
  flags: {
    'issued-before': {
      schema: exactInstantParameter.optional(),
      help: 'Revokes what was issued before then; ISO 8601.',
      example: '2026-11-22T12:00:00Z',
    },
  },
  examples: [
    'signal keys revoke 019abcde-7c00-7001-8000-00000000000a',
    'signal keys revoke --issued-before 2026-11-22T12:00:00Z',
  ],
  check(flags, id) {
    if ((id === '') !== (flags['issued-before'] === undefined)) return
    throw new ServiceError('config_invalid', {
      message: 'keys revoke takes the id of a key, or --issued-before: give one of the two',
    })
  },
  async act({ requests, operand: id, flags, stderr }) {
    const before = flags['issued-before']
    if (before !== undefined) return endBefore(requests, before, stderr)
    await requests.delete(`/operator/keys/${id}`)
    stderr.write(`key ${id} is revoked\n`)
  },
})

/** Ends what is older, page by page; each page is durable before the next is asked for. */
async function endBefore(
  requests: Service,
  issued_before: string,
  stderr: CommandInput['stderr'],
): Promise<void> {
  const ended = { keys: 0, sessions: 0, programs: 0 }
  for (let after: string | null | undefined; after !== null; ) {
    const body = { issued_before, ...(after && { after }) }
    const page = await requests.post('/operator/keys/revoke', body, endedAnswerSchema)
    for (const kind of ['keys', 'sessions', 'programs'] as const) ended[kind] += page[kind]
    after = page.next
  }
  stderr.write(
    `${ended.keys} keys are revoked, ${ended.sessions} sessions and ${ended.programs} programs are ended\n`,
  )
}

export const keyCommands: readonly Command[] = [createCommand, listCommand, revokeCommand]
