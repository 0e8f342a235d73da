HONEST = ()
