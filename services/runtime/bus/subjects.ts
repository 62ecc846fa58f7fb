import { ServiceError } from '../../../contracts/errors/errors.ts'

const SUBJECT_TOKENS = 16
const TOKEN = /^[A-Za-z0-9_-]{1,64}$/
const QUOTED_CHARACTERS = 80

/** Refuses anything but tokens joined by dots; wildcards are no tokens. @throws ServiceError `internal_error` */
export function checkSubject(subject: string): void {
  const tokens = subject.split('.')
  if (tokens.length > SUBJECT_TOKENS) {
    throw subjectError(`the subject ${quote(subject)} has more than ${SUBJECT_TOKENS} tokens`)
  }
  const bad = tokens.find((token) => !TOKEN.test(token))
  if (bad === undefined) return
  const rule = 'is not 1 to 64 of A-Z a-z 0-9 _ -'
  throw subjectError(`the token ${quote(bad)} of the subject ${quote(subject)} ${rule}`)
}

const quote = (text: string): string => JSON.stringify(text.slice(0, QUOTED_CHARACTERS))
const subjectError = (message: string): ServiceError => new ServiceError('internal_error', { message })
