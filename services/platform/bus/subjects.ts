import { ServiceError } from '../../../contracts/errors.ts'

/** First token of all that is published: what the NATS stream stores. Requests go by other names. */
export const PUBLISHED_ROOT = 'signal'

const SUBJECT_TOKENS = 16
const LARGEST_IN_FLIGHT = 4_096
const TOKEN = /^[A-Za-z0-9_-]{1,64}$/
const NAME = /^[A-Za-z0-9_-]{1,32}$/
const MESSAGE_ID = /^[A-Za-z0-9._:-]{1,128}$/

/** @throws ServiceError `internal_error` unless it is a subject that messages are published to. */
export function checkPublishedSubject(subject: string): void {
  const tokens = subject.split('.')
  if (tokens[0] !== PUBLISHED_ROOT || tokens.length < 2) {
    throw subjectError(`the subject ${quote(subject)} does not begin with ${PUBLISHED_ROOT}.`)
  }
  checkTokens(subject, tokens)
}

/** @throws ServiceError `internal_error` unless it is a subject that requests are sent to. */
export function checkRequestSubject(subject: string): void {
  checkTokens(subject, subject.split('.'))
}

/** @throws ServiceError `internal_error` unless every pattern is one and no message can match two of them. */
export function checkPatterns(patterns: readonly string[]): void {
  if (patterns.length === 0) throw subjectError('a consumer needs at least one subject; none was given')
  for (const [index, pattern] of patterns.entries()) {
    const tokens = pattern.split('.')
    if (tokens[0] !== PUBLISHED_ROOT || tokens.length < 2) {
      throw subjectError(`the subject pattern ${quote(pattern)} does not begin with ${PUBLISHED_ROOT}.`)
    }
    const open = tokens.at(-1) === '>' ? tokens.slice(0, -1) : tokens
    checkTokens(
      pattern,
      open.filter((token) => token !== '*'),
    )
    const other = patterns.slice(0, index).find((earlier) => patternsOverlap(earlier, pattern))
    if (other !== undefined) {
      throw subjectError(
        `the subjects ${quote(other)} and ${quote(pattern)} overlap; a message would come twice`,
      )
    }
  }
}

/** @throws ServiceError `internal_error` unless it is a consumer name. */
export function checkConsumerName(name: string): void {
  if (!NAME.test(name))
    throw subjectError(`the consumer name ${quote(name)} is not 1 to 32 of A-Z a-z 0-9 _ -`)
}

/** @throws ServiceError `internal_error` unless a consumer can hold that many messages. */
export function checkMaxInFlight(maxInFlight: number): void {
  if (!(Number.isInteger(maxInFlight) && maxInFlight >= 1 && maxInFlight <= LARGEST_IN_FLIGHT)) {
    throw subjectError(`maxInFlight ${maxInFlight} is not a whole number from 1 to ${LARGEST_IN_FLIGHT}`)
  }
}

/** @throws ServiceError `internal_error` unless it is a message id. */
export function checkMessageId(id: string): void {
  if (!MESSAGE_ID.test(id))
    throw subjectError(`the message id ${quote(id)} is not 1 to 128 of A-Z a-z 0-9 . _ : -`)
}

/** @example matchesPattern('signal.*.SIM.>', 'signal.trade_call.SIM.BTC.1m') === true */
export function matchesPattern(pattern: string, subject: string): boolean {
  return patternsOverlap(pattern, subject)
}

/** Whether some subject matches both; a subject without wildcards matches only itself. */
export function patternsOverlap(a: string, b: string): boolean {
  const left = a.split('.')
  const right = b.split('.')
  const shared = Math.min(left.length, right.length)
  for (let index = 0; index < shared; index++) {
    const [mine, yours] = [left[index], right[index]]
    if (mine === '>' || yours === '>') return true
    if (mine !== yours && mine !== '*' && yours !== '*') return false
  }
  return left.length === right.length
}

function checkTokens(subject: string, tokens: readonly string[]): void {
  if (subject.split('.').length > SUBJECT_TOKENS) {
    throw subjectError(`the subject ${quote(subject)} has more than ${SUBJECT_TOKENS} tokens`)
  }
  const bad = tokens.find((token) => !TOKEN.test(token))
  if (bad !== undefined) {
    throw subjectError(
      `the token ${quote(bad)} of the subject ${quote(subject)} is not 1 to 64 of A-Z a-z 0-9 _ -`,
    )
  }
}

const QUOTED_CHARACTERS = 80
const quote = (text: string): string => JSON.stringify(text.slice(0, QUOTED_CHARACTERS))
const subjectError = (message: string): ServiceError => new ServiceError('internal_error', { message })
