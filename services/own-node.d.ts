export declare function isRuntimeSound(versions?: {
  readonly node: string
  readonly sqlite?: string | undefined
}): boolean
export declare function findOwnNode(platform?: string, architecture?: string): string | undefined
export declare const SOUND_COMPILER: string
