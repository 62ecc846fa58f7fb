import { reasonOf } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { type DocPage, listFolder, readAskedOf, readPages, stampOf } from './corpus/read-pages.ts'
import { splitPage } from './corpus/split-page.ts'
import { SearchIndex } from './search/search-index.ts'

export interface LibraryOptions {
  /** The folder of the pages. */
  readonly folder: string
  /** Any clock in milliseconds. */
  readonly now: () => number
  /** Told why changed pages were not taken in; those before stay then. */
  readonly report: (reason: string) => void
}

/** The pages and their index, both of one moment. */
export interface Shelf {
  readonly pages: ReadonlyMap<string, DocPage>
  readonly index: SearchIndex
}

/**
 * Reads the pages and indexes them. Changed pages are seen when somebody asks, five seconds late at most; the new index
 * is complete before it takes the place of the old one, so every answer is of one state of the pages.
 *
 * @throws what reading the folder throws: a service without its documentation is not started
 */
export async function openLibrary({ folder, now, report }: LibraryOptions) {
  let { stamp, shelf } = await readShelf(folder)
  let lookedAt = now()
  let looking: Promise<void> | undefined

  async function look(): Promise<void> {
    try {
      if (stampOf(await listFolder(folder)) === stamp)
        return // The old index is not closed: somebody may be answering from it yet. Its memory goes with the last of them.
      ;({ stamp, shelf } = await readShelf(folder))
    } catch (error) {
      report(reasonOf(error))
    }
  }

  return {
    /** The newest pages. The first call after an interval looks at the folder; nothing polls. */
    async current(): Promise<Shelf> {
      if (now() - lookedAt >= LIMITS.docsLookMs) {
        lookedAt = now()
        looking = look().finally(() => {
          looking = undefined
        })
      }
      if (looking !== undefined) await looking
      return shelf
    },
    close: () => shelf.close(),
  }
}

async function readShelf(folder: string): Promise<{ stamp: string; shelf: Shelf & { close(): void } }> {
  const files = await listFolder(folder)
  const [pages, asked] = await Promise.all([readPages(files), readAskedOf(files)])
  let index: SearchIndex | undefined
  const shelf = {
    pages: new Map(pages.map((page) => [page.name, page])),
    // Made for the first who searches: a start waits for none.
    get index() {
      return (index ??= new SearchIndex(pages.flatMap(splitPage), asked))
    },
    close: () => index?.close(),
  }
  return { stamp: stampOf(files), shelf }
}
