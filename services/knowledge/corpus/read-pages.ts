import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { type Block, parseMarkdown, plainText } from '../markdown/parse-markdown.ts'
import { type Asked, NOTHING_ASKED, readAsked } from './read-asked.ts'

/** A page of the documentation. */
export interface DocPage {
  /** Name of its file, without `.md`. */
  readonly name: string
  /** Its first heading, without marks. */
  readonly title: string
  /** Whether it is made from the code by `npm run docs`. */
  readonly isReference: boolean
  readonly blocks: readonly Block[]
  /** As its author wrote it. */
  readonly markdown: string
}

/** A page's file. */
interface PageFile {
  readonly name: string
  readonly path: string
}

/** Names that pages may have; what else lies in the folder is no page. */
const PAGE_FILE = /^([a-z0-9][a-z0-9-]{0,63})\.md$/
/** How people ask; a folder without it is read as well. */
const ASKED_FILE = 'asked.txt'

/** A folder of documentation: its pages by name, and how people ask for their sections. */
export interface DocsFolder {
  readonly pages: readonly PageFile[]
  readonly asked: PageFile | undefined
}

/**
 * The pages that lie in a folder itself. Decision records and examples are in folders of their own: they are about
 * how the service came to be, not about its use.
 *
 * @throws ServiceError `internal_error` where there are more, or larger ones, than are read
 */
export async function listFolder(folder: string): Promise<DocsFolder> {
  const entries = await readdir(folder, { withFileTypes: true })
  const names = entries
    .filter((entry) => entry.isFile())
    .map((entry) => PAGE_FILE.exec(entry.name)?.[1])
    .filter((name) => name !== undefined)
    .toSorted()
  if (names.length > LIMITS.docsPages) {
    throw new ServiceError('internal_error', {
      message: `${folder} has ${names.length} pages, and at most ${LIMITS.docsPages} are read`,
    })
  }
  const hasAsked = entries.some(({ name }) => name === ASKED_FILE)
  const pages = await Promise.all(names.map((name) => fileAt(name, join(folder, `${name}.md`))))
  const asked = hasAsked ? await fileAt(ASKED_FILE, join(folder, ASKED_FILE)) : undefined
  return { pages, asked }
}

async function fileAt(name: string, path: string): Promise<PageFile> {
  const { size } = await stat(path)
  if (size > LIMITS.docsPageBytes) {
    throw new ServiceError('internal_error', {
      message: `${path} has ${size} bytes, and at most ${LIMITS.docsPageBytes} are read`,
    })
  }
  return { name, path }
}

export const readPages = ({ pages }: DocsFolder): Promise<DocPage[]> =>
  Promise.all(pages.map(async ({ name, path }) => docPage(name, await readFile(path, 'utf8'))))

export const readAskedOf = async ({ asked }: DocsFolder): Promise<Asked> =>
  asked === undefined ? NOTHING_ASKED : readAsked(await readFile(asked.path, 'utf8'))

/**
 * A page is parsed when somebody asks for what is in it: a start waits for none.
 *
 * @example docPage('quotas', '# Quotas\n\nEvery call counts.').title === 'Quotas'
 */
export function docPage(name: string, markdown: string): DocPage {
  let parsed: readonly Block[] | undefined
  return {
    name,
    get title() {
      const heading = this.blocks.find((block) => block.kind === 'heading')
      return heading === undefined ? name : plainText(heading.text)
    },
    isReference: markdown.startsWith('<!-- Generated'),
    get blocks() {
      return (parsed ??= parseMarkdown(markdown))
    },
    markdown,
  }
}
