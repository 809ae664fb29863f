import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from './run.ts'

/**
 * Does work in a copy of the present commit: a second working tree of the repository, in a temporary folder. The tree of
 * the caller stays as it is, whatever happens in the copy. Its packages are those that are installed.
 */
export function inCopy<Result>(root: string, work: (copy: string) => Result): Result {
  removeCopies(root)
  // npm names the component of the bill of materials by the folder.
  const copy = join(mkdtempSync(join(tmpdir(), 'tierway-release-')), 'tierway')
  try {
    run(root, 'git', 'worktree', 'add', '--quiet', '--detach', copy)
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'), 'dir')
    return work(copy)
  } finally {
    removeCopies(root)
  }
}

/** Removes the copies of this repository, also those of runs that were interrupted. */
function removeCopies(root: string): void {
  const trees = run(root, 'git', 'worktree', 'list', '--porcelain')
  for (const [, folder = ''] of trees.matchAll(/^worktree (.*\btierway-release-\w+)\/tierway$/gm))
    rmSync(folder, { recursive: true, force: true })
  run(root, 'git', 'worktree', 'prune')
}
