"""Where the rows live. Everything that leaves them is a sum (or a maximum) over rows.

`base` has the words between the loop and the rows, `rows` what every kind of rows offers; `directed`, `pairs` and
`similar` are kinds that offer more, and `factory` makes the kind that a recipe requires. `columns` holds what passes
over rows read and write, `stumps` and `growth` search on them. `costs` says what mistakes cost, `folded` what left-out
rows say, `row_losses` what rows ask of losses. `exchange` is what crosses between pieces of rows; `remote`, `placed`
and `dask` have pieces in other processes.
"""
