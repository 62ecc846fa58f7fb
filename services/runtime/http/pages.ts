import { ServiceError } from '../../../contracts/errors/errors.ts'

/** Longer than any list of this service: its largest pages hold a thousand rows. */
const MOST_PAGES = 10_000

/**
 * The pages of a list, each asked for with the `next` of the one before, to the last one. @throws ServiceError
 * `server_unreachable` where the list goes round, or has no end
 */
export async function* pagesOf<Page extends { readonly next: string | null }>(
  what: string,
  read: (after: string | undefined) => Promise<Page>,
  mostPages = MOST_PAGES,
): AsyncGenerator<Page, void, void> {
  const seen = new Set<string>()
  for (let after: string | undefined; ; ) {
    const page = await read(after)
    yield page
    if (page.next === null) return
    if (seen.has(page.next) || seen.size === mostPages) {
      const why = seen.has(page.next) ? 'names a page twice' : `has more than ${mostPages} pages`
      throw new ServiceError('server_unreachable', {
        message: `${what} has no end: it ${why}`,
        nextStep: 'Tell the operator of that service: no list of this release goes on like that.',
      })
    }
    seen.add(page.next)
    after = page.next
  }
}
