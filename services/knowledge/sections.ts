import { type Block, plainText } from './markdown.ts'
import type { DocPage } from './pages.ts'

/** A section of a page: the unit that is found, quoted and cited. */
export interface Section {
  /** Page and anchor, as in `quotas#how-many-calls-are-there`. */
  readonly id: string
  readonly page: string
  readonly anchor: string
  /** The page's title and the headings above it, as citations show it. */
  readonly title: string
  readonly pageTitle: string
  /** Headings that the section is under, without the page's title; empty before the first. */
  readonly heading: string
  readonly blocks: readonly Block[]
}

/** The sections of a page. One without a block of its own, because others are under it, is left out. */
export function splitPage({ name: page, title: pageTitle, blocks: all }: DocPage): Section[] {
  const sections: Section[] = []
  let path: { readonly level: number; readonly text: string }[] = []
  let anchor = ''
  let blocks: Block[] = []
  const close = (): void => {
    if (blocks.length === 0) return
    const heading = path.map(({ text }) => text).join(' – ')
    const title = heading === '' ? pageTitle : `${pageTitle}: ${heading}`
    sections.push({ id: `${page}#${anchor}`, page, anchor, title, pageTitle, heading, blocks })
    blocks = []
  }
  for (const block of all) {
    if (block.kind !== 'heading') {
      blocks.push(block)
      continue
    }
    close()
    anchor = block.anchor
    const { level } = block
    path =
      level === 1 ? [] : [...path.filter((one) => one.level < level), { level, text: plainText(block.text) }]
  }
  close()
  return sections
}
