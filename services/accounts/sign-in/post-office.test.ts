import { expect, test } from 'vitest'
import { LIMITS } from '../../../contracts/limits.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { MailError, type Mailer } from '../mail/mailer.ts'
import { createPostOffice } from './post-office.ts'

const MAIL = { to: 'ada@example.com', subject: 'a subject', text: 'a text' }

function anOffice(send: Mailer['send'], onClose: () => void = () => undefined) {
  const failures: string[] = []
  const waits: number[] = []
  const ending = new AbortController()
  const office = createPostOffice({
    mailer: { send, close: async () => onClose() },
    // A sign-in waits for a moment, and tries follow one another at once.
    sleep: (ms, signal) => {
      if (ms !== LIMITS.mailWaitMs) waits.push(ms)
      return sleep(ms === LIMITS.mailWaitMs ? 20 : 0, signal)
    },
    signal: ending.signal,
    onFailure: (about, reason) => failures.push(`${about}: ${reason}`),
  })
  return { office, failures, waits }
}

test('a mail that is refused for now is tried again, so many times', async () => {
  let tries = 0
  const { office, failures, waits } = anOffice(async () => {
    tries += 1
    if (tries < LIMITS.mailTries) throw new MailError('busy', true)
  })
  await office.send(MAIL, 'a sign-in')
  expect([tries, failures, waits.length]).toEqual([LIMITS.mailTries, [], LIMITS.mailTries - 1])

  const never = anOffice(() => Promise.reject(new MailError('busy', true)))
  await never.office.send(MAIL, 'a sign-in')
  expect(never.failures).toEqual(['a sign-in: busy'])
})

test('a mail that is refused for good is given up at once, and told', async () => {
  let tries = 0
  const { office, failures } = anOffice(async () => {
    tries += 1
    throw new MailError('no such mailbox', false)
  })
  await office.send(MAIL, 'a sign-in')
  expect([tries, failures]).toEqual([1, ['a sign-in: no such mailbox']])
})

test('nobody waits for a slow server, whose answer still counts', async () => {
  const answer = Promise.withResolvers<void>()
  const { office, failures } = anOffice(() => answer.promise)
  await office.send(MAIL, 'a sign-in')
  let isClosed = false
  const closing = office.close().finally(() => {
    isClosed = true
  })
  await sleep(5, new AbortController().signal)
  expect(isClosed).toBe(false)
  answer.reject(new MailError('gone', false))
  await closing
  expect(failures).toEqual(['a sign-in: gone'])
})

test('a server that never answers does not keep the service from ending', async () => {
  let isClosed = false
  const { office } = anOffice(
    () => new Promise(() => undefined),
    () => {
      isClosed = true
    },
  )
  await office.send(MAIL, 'a sign-in')
  await office.close()
  expect(isClosed).toBe(true)
})

test('no more than so many are under way', async () => {
  const answer = Promise.withResolvers<void>()
  const { office } = anOffice(() => answer.promise)
  const sending = Array.from({ length: LIMITS.mailsUnderWay }, () => office.send(MAIL, 'a sign-in'))
  await expect(office.send(MAIL, 'a sign-in')).rejects.toMatchObject({ code: 'rate_limited' })
  answer.resolve()
  await Promise.all(sending)
  await office.close()
})
