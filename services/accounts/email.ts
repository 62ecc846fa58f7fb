import { domainToASCII } from 'node:url'
import { ServiceError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'

/** A dot-string of RFC 5321 §4.1.2: no quotes, no comments, and nothing that an address list would split at. */
const LOCAL_PART = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/
const LOCAL_CHARACTERS = 64
const DOMAIN = /^(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])$/

/**
 * One spelling for every e-mail address: without blanks around it, in lower case, an international domain in its
 * ASCII form. The part before the @ may tell cases apart by the standard and does so nowhere; two accounts for
 * one mailbox would be the worse surprise. Dots and plus signs in it are left alone.
 *
 * @throws ServiceError `invalid_request`
 * @example normaliseEmail(' Ada@Example.COM ') === 'ada@example.com'
 */
export function normaliseEmail(text: string): string {
  if (text.length > LIMITS.emailCharacters) throw invalid(`has ${text.length} characters`)
  const trimmed = text.trim()
  const at = trimmed.lastIndexOf('@')
  const local = trimmed.slice(0, Math.max(at, 0)).toLowerCase()
  const domain = domainToASCII(trimmed.slice(at + 1)).toLowerCase()
  if (!LOCAL_PART.test(local) || local.length > LOCAL_CHARACTERS || !DOMAIN.test(domain)) {
    throw invalid('is not one')
  }
  const email = `${local}@${domain}`
  if (email.length > LIMITS.emailCharacters) throw invalid(`has ${email.length} characters`)
  return email
}

const invalid = (problem: string): ServiceError =>
  new ServiceError('invalid_request', {
    message: `email: the address ${problem}; it looks like name@example.com, with at most ${LIMITS.emailCharacters} characters`,
    details: { fields: [{ field: 'email', problem: `the address ${problem}` }] },
  })
