import { readFileSync } from 'node:fs'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { parseVkey, SIGNATURE_TYPES, type Verifier } from '../notes/note-keys.ts'

export interface PolicyWitness {
  /** The name in the policy file; the key may have another one. */
  readonly name: string
  readonly verifier: Verifier
  /** Its address, without the last slash. */
  readonly url: string | undefined
}

/** Which witnesses have to have cosigned a checkpoint (C2SP tlog-policy). */
export interface Policy {
  readonly logs: readonly Verifier[]
  readonly witnesses: readonly PolicyWitness[]
  /** Whether cosignatures of some keys are enough. */
  isMet(cosigners: readonly Verifier[]): boolean
}

type Rule = (vkeys: ReadonlySet<string>) => boolean

/** As many as fit on a checkpoint, each with the longest kind of signature. */
const MOST_OF_A_KIND = 32
const MOST_BYTES = 1_000_000
const COSIGNER_TYPES: readonly number[] = [SIGNATURE_TYPES.ed25519Cosignature, SIGNATURE_TYPES.mlDsa44]

/**
 * Reads a policy file.
 *
 * @param options.isAsked its witnesses are asked, so those of a quorum need addresses
 * @throws ServiceError `config_invalid` for a file that cannot be read, and for a policy that nobody can satisfy
 */
export function loadPolicy(file: string, options: { readonly isAsked: boolean }): Policy {
  try {
    const policy = parsePolicy(readFileSync(file, 'utf8'))
    const asked = policy.witnesses.flatMap(({ url, verifier }) => (url === undefined ? [] : [verifier]))
    if (options.isAsked && !policy.isMet(asked))
      throw new TypeError('its quorum cannot be reached: too few of its witnesses have an address')
    return policy
  } catch (error) {
    throw new ServiceError('config_invalid', {
      message: `the policy file ${file} cannot be used: ${reasonOf(error)}`,
      cause: error,
    })
  }
}

/** @throws TypeError that names the line */
export function parsePolicy(text: string): Policy {
  if (text.length > MOST_BYTES) throw new TypeError(`it is longer than ${MOST_BYTES} characters`)
  const [logs, witnesses]: [Verifier[], PolicyWitness[]] = [[], []]
  const rules = new Map<string, Rule>()
  const members = new Set<string>()
  let quorum: Rule | undefined

  function define(name: string, rule: Rule): void {
    if (name === 'none' || rules.has(name)) throw new TypeError(`the name ${name} is taken`)
    if (rules.size === 2 * MOST_OF_A_KIND) throw new TypeError(`more than ${rules.size} names are too many`)
    rules.set(name, rule)
  }
  function ruleOf(name: string): Rule {
    const rule = rules.get(name)
    if (rule === undefined) throw new TypeError(`nothing above it has the name ${JSON.stringify(name)}`)
    return rule
  }
  const read: Readonly<Record<string, (words: readonly string[]) => void>> = {
    log([vkey = '', url, ...rest]) {
      const key = keyIn(vkey, rest, logs)
      if (url !== undefined) addressIn(url)
      logs.push(key)
    },
    witness([name = '', vkey = '', url, ...rest]) {
      const verifier = keyIn(
        vkey,
        rest,
        witnesses.map((one) => one.verifier),
      )
      if (!COSIGNER_TYPES.includes(verifier.type))
        throw new TypeError(`the key of ${name} is none of a witness`)
      define(name, (vkeys) => vkeys.has(verifier.vkey))
      witnesses.push({ name, verifier, url: url === undefined ? undefined : addressIn(url) })
    },
    group([name = '', threshold = '', ...names]) {
      const least = threshold === 'all' ? names.length : threshold === 'any' ? 1 : Number(threshold)
      if (!(/^(?:all|any|[1-9]\d*)$/.test(threshold) && least <= names.length && names.length > 0))
        throw new TypeError(`${threshold || 'nothing'} of ${names.length} is never reached`)
      const rulesOf = names.map(ruleOf)
      for (const member of names) {
        if (members.has(member)) throw new TypeError(`${member} is a member already`)
        members.add(member)
      }
      define(name, (vkeys) => rulesOf.filter((rule) => rule(vkeys)).length >= least)
    },
    quorum([name = '', ...rest]) {
      if (quorum !== undefined || rest.length > 0) throw new TypeError('a policy has one quorum, of one name')
      quorum = name === 'none' ? () => true : ruleOf(name)
    },
  }
  for (const [index, line] of text.split('\n').entries()) {
    const [kind = '', ...words] = line.trim().split(/[ \t]+/)
    if (kind === '' || kind.startsWith('#')) continue
    try {
      if (!Object.hasOwn(read, kind))
        throw new TypeError('it begins with none of log, witness, group, quorum')
      read[kind]?.(words)
    } catch (error) {
      throw new TypeError(`line ${index + 1}: ${reasonOf(error)}`, { cause: error })
    }
  }
  const enough = quorum
  if (enough === undefined) throw new TypeError('it has no quorum')
  return { logs, witnesses, isMet: (cosigners) => enough(new Set(cosigners.map(({ vkey }) => vkey))) }
}

function keyIn(vkey: string, rest: readonly string[], others: readonly Verifier[]): Verifier {
  const key = parseVkey(vkey)
  if (key === undefined || rest.length > 0) throw new TypeError('a verifier key and an address are expected')
  if (others.some((other) => bytesOf(other).equals(bytesOf(key))))
    throw new TypeError('the key is there twice')
  if (others.length === MOST_OF_A_KIND) throw new TypeError(`more than ${MOST_OF_A_KIND} are not read`)
  return key
}

/** The key itself: one that has two names is still one. */
const bytesOf = ({ vkey }: Verifier): Buffer =>
  Buffer.from(vkey.split('+').slice(2).join('+'), 'base64').subarray(1)

function addressIn(url: string): string {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new TypeError(`${JSON.stringify(url)} is no http address`)
  return url.replace(/\/+$/, '')
}
