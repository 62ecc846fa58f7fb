import { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { MailError, type Mailer } from './mailer.ts'

export interface SmtpMailerOptions {
  /** `smtp://name:password@host:587`, or `smtps://…` for TLS from the first byte. It is never printed. */
  readonly url: string
  /** The sender, `signals@example.com` or `Signals <signals@example.com>`. */
  readonly from: string
  /** How long each step of one mail may take. */
  readonly timeoutMs?: number
}

/** Connections kept to the server; sign-ins come one by one. */
const CONNECTIONS = 2

/**
 * Sends mail by SMTP. `smtp://` uses STARTTLS wherever the server offers it. The connection is made by the first mail.
 *
 * @throws ServiceError `config_invalid` for an address that is none, which it does not quote
 */
export function createSmtpMailer({ url, from, timeoutMs = LIMITS.mailSendMs }: SmtpMailerOptions): Mailer {
  const server = parseUrl(url)
  const options = {
    pool: true as const,
    maxConnections: CONNECTIONS,
    host: server.hostname,
    secure: server.protocol === 'smtps:',
    ...(server.port !== '' && { port: Number(server.port) }),
    ...(server.username !== '' && {
      auth: { user: decodeURIComponent(server.username), pass: decodeURIComponent(server.password) },
    }),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
    // A text is a text: nothing in a mail names a file or an address to be fetched.
    disableFileAccess: true,
    disableUrlAccess: true,
  }
  const open = async () => (await import('nodemailer')).createTransport(options)
  let transport: ReturnType<typeof open> | undefined
  return {
    async send({ to, subject, text, id }) {
      try {
        // An object, because a string would be read as a list of addresses.
        transport ??= open()
        const message = { from, to: { name: '', address: to }, subject, text }
        await (await transport).sendMail({ ...message, ...(id !== undefined && { messageId: `<${id}>` }) })
      } catch (error) {
        throw toMailError(error)
      }
    },
    async close() {
      ;(await transport)?.close()
    },
  }
}

function parseUrl(url: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (parsed !== undefined && /^smtps?:$/.test(parsed.protocol) && parsed.hostname !== '') return parsed
  throw new ServiceError('config_invalid', {
    message: 'SMTP_URL cannot be read; it looks like smtp://name:password@mail.example.com:587',
  })
}

/** Replies of a server quote the address, so the error has only their code. From 500 on a reply is final (RFC 5321 §4.2.1). */
function toMailError(error: unknown): MailError {
  const { code, responseCode, command } = error as {
    readonly code?: unknown
    readonly responseCode?: unknown
    readonly command?: unknown
  }
  const deps = [
    typeof code === 'string' ? code : 'no connection',
    typeof responseCode === 'number' ? `reply ${responseCode}` : undefined,
    typeof command === 'string' ? `after ${command.split(' ')[0]}` : undefined,
  ]
  const isFinal = typeof responseCode === 'number' && responseCode >= 500
  return new MailError(`the mail server did not take a mail: ${deps.filter(Boolean).join(', ')}`, !isFinal)
}
