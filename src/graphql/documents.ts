import type { DocumentNode, GraphQLError } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { LRUCache } from 'lru-cache'
import type { PersistedOperations } from './persisted-operations.ts'

/** Of what is kept beside persisted documents: anybody may send some. */
const KEPT_DOCUMENTS = 100
const KEPT_BYTES = 16 * 1024 * 1024
/** What a token takes, with the nodes and the faults that it is part of. */
const TOKEN_BYTES = 512

/** Documents as they were parsed, by their text: persisted ones for good, others up to a number and a weight. */
export class KeptDocuments {
  /** For Yoga's own plugin, which parses and validates what is not here yet. */
  readonly errorCache = new LRUCache<string, GraphQLError>({
    max: KEPT_DOCUMENTS,
    maxSize: KEPT_BYTES,
    sizeCalculation: (_error, text) => 2 * text.length + TOKEN_BYTES,
  })
  /** Learns which ones were found valid, by every rule that Yoga was given. */
  readonly plugin: Plugin = {
    onValidate:
      ({ params: { documentAST } }) =>
      ({ valid }) => {
        if (valid) this.valid.add(documentAST)
      },
  }
  private readonly texts: ReadonlySet<string>
  private readonly persisted = new Map<string, DocumentNode>()
  private readonly others = new LRUCache<string, DocumentNode>({
    max: KEPT_DOCUMENTS,
    maxSize: KEPT_BYTES,
    sizeCalculation: (document, text) => 2 * text.length + TOKEN_BYTES * tokensOf(document),
  })
  private readonly valid = new WeakSet<DocumentNode>()

  constructor(operations: PersistedOperations) {
    this.texts = new Set(operations.values())
  }

  get(text: string): DocumentNode | undefined {
    return this.persisted.get(text) ?? this.others.get(text)
  }

  set(text: string, document: DocumentNode): void {
    if (this.texts.has(text)) this.persisted.set(text, document)
    else this.others.set(text, document)
  }

  /** One that may be run as it is. */
  getValid(text: string): DocumentNode | undefined {
    const document = this.get(text)
    return document && this.valid.has(document) ? document : undefined
  }
}

function tokensOf({ loc }: DocumentNode): number {
  let count = 1
  for (let token = loc?.startToken; token?.next; token = token.next) count += 1
  return count
}
