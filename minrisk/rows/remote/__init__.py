"""Rows on other machines: pieces that are asked by a log of calls, whatever carries it.

The caller, the *driver*, has a piece of its own without rows. It takes part in every exchange (`minrisk.rows.exchange`)
and so computes each answer itself, as all pieces do. Hence one exchange is a map over the other pieces and a reduction,
and nothing else travels: a piece is sent what has been called and exchanged since the last time (`log`), goes on to the
next exchange, and answers with what it has to give (`replica`). What a piece answers depends on its rows and the log
alone, so whoever loses a piece builds another one from both. `driver` keeps the log and stands for all pieces; an
`Engine` (`minrisk.rows.dask` is one) maps and reduces.
"""
