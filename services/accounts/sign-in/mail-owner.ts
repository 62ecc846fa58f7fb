import { isServiceError } from '../../../contracts/errors.ts'
import type { AccountDeps } from '../account-deps.ts'
import type { Mail, Mailer } from '../mail/mailer.ts'
import type { PostOffice } from './post-office.ts'

/**
 * Mails the owner of an account. Nothing happens where the account has no address, or the service no mail server.
 *
 * @returns milliseconds after which there is room, where the account's hour is full or too many mails are under way: the
 * mail was not sent then
 * @throws ServiceError of the store
 */
export type MailOwner = (accountId: string, mail: Omit<Mail, 'to'>) => Promise<number | undefined>

export function createMailOwner({
  log,
  subjectKeys,
  postOffice,
  mailer,
}: Pick<AccountDeps, 'log' | 'subjectKeys'> & {
  readonly postOffice: PostOffice
  readonly mailer: Pick<Mailer, 'isShown'>
}): MailOwner {
  return async (accountId, mail) => {
    const { isOpen, generation, sealedEmail } = await log.load(accountId)
    if (mailer.isShown || !isOpen || sealedEmail === null) return undefined
    try {
      // Before it is counted: a mail that finds no place uses up nothing of the hour.
      postOffice.requireRoom()
      await log.execute(accountId, { correlationId: accountId, actor: 'notices' }, () => [{ kind: 'Mail' }])
      const to = await subjectKeys.unsealEmail({ accountId, generation }, sealedEmail)
      await postOffice.send({ ...mail, to }, `notice to account ${accountId}`)
      return undefined
    } catch (error) {
      if (isServiceError(error, 'rate_limited')) return 1_000 * Number(error.details?.['retry_after_s'] ?? 60)
      throw error
    }
  }
}
