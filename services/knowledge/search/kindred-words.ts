/**
 * Words that callers use for one another. The documentation has one name for a thing, and those who ask do not know
 * it yet. Every group is of one meaning in this house; a word is in one group at most.
 */
const KINDRED: readonly (readonly string[])[] = [
  ['price', 'cost', 'fee', 'expensive', 'cheap'],
  ['pay', 'payment', 'paid'],
  ['charge', 'charged', 'billed', 'bill', 'count', 'counted'],
  ['erase', 'erased', 'forget', 'forgotten'],
  ['delete', 'remove', 'unsubscribe', 'cancel'],
  ['revoke', 'lost', 'leaked', 'stolen'],
  ['quota', 'allowance'],
  ['remaining', 'left'],
  ['signal', 'verdict'],
  ['exchange', 'venue'],
  ['endpoint', 'receiver'],
  ['install', 'setup', 'deploy', 'deployment'],
  ['start', 'run', 'launch'],
  ['laptop', 'machine', 'computer', 'server'],
  ['error', 'refusal', 'refused'],
  ['retry', 'retried', 'repeat', 'repeated', 'resend'],
  ['verify', 'verification', 'check', 'proof', 'prove'],
  ['historical', 'history', 'past', 'old', 'recorded'],
  ['download', 'export'],
  ['accuracy', 'accurate', 'good', 'reliable'],
  ['sign', 'signature', 'signed'],
  ['currency', 'usdc', 'money'],
  ['chain', 'blockchain', 'network'],
  ['account', 'login', 'signup', 'register'],
  ['agent', 'mcp'],
  ['live', 'realtime', 'tail'],
  ['limit', 'maximum', 'cap'],
  ['simulated', 'fake', 'made'],
  ['configure', 'configuration', 'setting', 'option'],
  ['computed', 'calculated', 'decided'],
  ['valid', 'expire', 'expires'],
  ['daily', 'day'],
  ['backup', 'back'],
  ['biggest', 'largest', 'big', 'large', 'top'],
  ['push', 'webhook', 'notify', 'notified', 'notification'],
  ['disabled', 'disable', 'switched', 'deactivated', 'stopped'],
  ['flip', 'turn', 'change'],
  ['payload', 'body', 'data'],
  ['down', 'outage', 'away', 'unreachable', 'offline'],
  ['crash', 'dies', 'killed', 'sigkill'],
  ['losing', 'loss', 'lose'],
]

const GROUPS = new Map(KINDRED.flatMap((group) => group.map((word) => [word, group] as const)))

/** Other words for a word, or for the word that it is the plural of. */
export function kindredOf(word: string): readonly string[] {
  const group = GROUPS.get(word) ?? GROUPS.get(word.replace(/s$/, ''))
  return group?.filter((other) => other !== word) ?? []
}
