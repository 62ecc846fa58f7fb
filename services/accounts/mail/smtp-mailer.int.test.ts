import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { afterEach, describe, expect, test } from 'vitest'
import { MailError, type Mailer } from './mailer.ts'
import { createSmtpMailer } from './smtp-mailer.ts'

interface Received {
  readonly from: string
  readonly to: readonly string[]
  readonly text: string
}

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

/** A mail server on this machine that keeps what it gets. */
async function startServer(
  change: SMTPServerOptions = {},
): Promise<{ readonly url: string; readonly received: Received[] }> {
  const received: Received[] = []
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    authOptional: true,
    onData(stream, session, done) {
      let text = ''
      stream.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')))
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope
        received.push({
          from: mailFrom ? mailFrom.address : '',
          to: rcptTo.map(({ address }) => address),
          text,
        })
        done()
      })
    },
    ...change,
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  closers.push(() => new Promise<void>((resolve) => server.close(() => resolve())))
  const { port } = server.server.address() as AddressInfo
  return { url: `smtp://127.0.0.1:${port}`, received }
}

function mailerFor(url: string): Mailer {
  const mailer = createSmtpMailer({ url, from: 'Signals <signals@example.com>', timeoutMs: 1_000 })
  closers.push(() => mailer.close())
  return mailer
}

const MAIL = {
  to: 'ada@example.com',
  subject: '123456 is your sign-in code',
  text: 'The code is\n\n123456\n',
}

const failureOf = (work: Promise<void>): Promise<unknown> =>
  work.then(
    () => 'sent',
    (error: unknown) => error,
  )

describe('a mail', () => {
  test('reaches the server with sender, receiver, subject and text', async () => {
    const { url, received } = await startServer()
    const mailer = mailerFor(url)
    await mailer.send(MAIL)
    await mailer.send({ ...MAIL, to: "o'hara+x@example.com" })
    expect(received).toMatchObject([
      { from: 'signals@example.com', to: ['ada@example.com'] },
      { from: 'signals@example.com', to: ["o'hara+x@example.com"] },
    ])
    expect(received[0]?.text).toMatch(/^Subject: 123456 is your sign-in code\r$/m)
    expect(received[0]?.text).toMatch(/^From: Signals <signals@example.com>\r$/m)
    expect(received[0]?.text).toMatch(/^123456\r$/m)
  })

  test('goes to one receiver, whatever the address looks like', async () => {
    const { url, received } = await startServer()
    const mailer = mailerFor(url)
    for (const to of ['ada@example.com,eve@example.org', 'ada@example.com\r\nBcc: eve@example.org']) {
      await failureOf(mailer.send({ ...MAIL, to }))
    }
    expect(received.flatMap(({ to }) => to)).not.toContain('eve@example.org')
  })

  test('goes with the name and password of the address', async () => {
    const seen: unknown[] = []
    const { url, received } = await startServer({
      authOptional: false,
      allowInsecureAuth: true,
      onAuth({ username, password }, _session, done) {
        seen.push([username, password])
        done(null, { user: username })
      },
    })
    await mailerFor(url.replace('//', '//signals:p%40ss@')).send(MAIL)
    expect(seen).toEqual([['signals', 'p@ss']])
    expect(received).toHaveLength(1)
  })
})

describe('a mail that is not taken', () => {
  const refusing = (responseCode: number): SMTPServerOptions => ({
    onRcptTo: (address, _session, done) =>
      done(Object.assign(new Error(`no mailbox ${address.address}`), { responseCode })),
  })

  test.each([
    ['for good', 550, false],
    ['for now', 450, true],
  ])('%s says so, without the address', async (_what, responseCode, isPassing) => {
    const { url } = await startServer(refusing(responseCode))
    const error = await failureOf(mailerFor(url).send(MAIL))
    expect(error).toBeInstanceOf(MailError)
    expect(error).toMatchObject({ isPassing })
    expect(String(error)).toContain(`reply ${responseCode}`)
    expect(JSON.stringify(error) + String(error)).not.toContain('ada@')
    expect((error as Error).cause).toBeUndefined()
  })

  test('because nobody listens, or nobody answers, may be taken later', async () => {
    const { url } = await startServer()
    await closers.pop()?.()
    expect(await failureOf(mailerFor(url).send(MAIL))).toMatchObject({ isPassing: true })
    const silent = await startServer({ onConnect: () => undefined })
    expect(await failureOf(mailerFor(silent.url).send(MAIL))).toMatchObject({ isPassing: true })
  })

  test('because of a wrong password does not tell it', async () => {
    const { url } = await startServer({
      authOptional: false,
      allowInsecureAuth: true,
      onAuth: (_auth, _session, done) => done(new Error('wrong')),
    })
    const error = await failureOf(mailerFor(url.replace('//', '//signals:s3cret@')).send(MAIL))
    expect(error).toBeInstanceOf(MailError)
    expect(JSON.stringify(error) + String(error)).not.toContain('s3cret')
  })
})

test.each(['', 'localhost', 'http://localhost', 'smtp:', 'smtp://'])('the address %j is refused', (url) => {
  expect(() => createSmtpMailer({ url, from: 'a@example.com' })).toThrow(
    expect.objectContaining({ code: 'config_invalid' }),
  )
})
