import { type DocPage, listFolder, readAskedOf, readPages } from './corpus/read-pages.ts'
import { splitPage } from './corpus/split-page.ts'
import { SearchIndex } from './search/search-index.ts'

/** The pages and their index. */
export interface Shelf {
  readonly pages: ReadonlyMap<string, DocPage>
  readonly index: SearchIndex
}

/**
 * Reads the pages of a folder, once. They are indexed for the first who searches: a start waits for none.
 *
 * @throws what reading the folder throws: a service without its documentation is not started
 */
export async function openLibrary(folder: string): Promise<Shelf & { close(): void }> {
  const files = await listFolder(folder)
  const [pages, asked] = await Promise.all([readPages(files), readAskedOf(files)])
  let index: SearchIndex | undefined
  return {
    pages: new Map(pages.map((page) => [page.name, page])),
    get index() {
      return (index ??= new SearchIndex(pages.flatMap(splitPage), asked))
    },
    close: () => index?.close(),
  }
}
